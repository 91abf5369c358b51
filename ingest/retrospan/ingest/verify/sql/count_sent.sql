-- title: how many rows the log gave
-- params: none
-- returns: spans, log_records, rejects, arrivals, marks
SELECT
    (SELECT count() FROM raw_spans),
    (SELECT count() FROM raw_logs),
    (SELECT count() FROM raw_rejects),
    (SELECT count() FROM arrivals),
    (SELECT count() FROM run_marks)
