-- title: the rows of each raw table that receipts name, and those of them that are surely gone
-- params: log UInt32, buried UInt64 (the last receipt of this log that was carried out)
-- returns: spans, log_records, arrivals UInt64, then the same of what is surely gone
WITH if(log = {log:UInt32}, number <= {buried:UInt64}, deleted_at < now() - INTERVAL 1 HOUR) AS is_gone
SELECT
    sum(receipts.spans) AS named_spans,
    sum(receipts.log_records) AS named_log_records,
    sum(receipts.arrivals) AS named_arrivals,
    sumIf(receipts.spans, is_gone) AS gone_spans,
    sumIf(receipts.log_records, is_gone) AS gone_log_records,
    sumIf(receipts.arrivals, is_gone) AS gone_arrivals
FROM receipts FINAL
