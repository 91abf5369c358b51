-- title: the rows of each raw table that were deleted, as the receipts say
-- params: none
-- returns: spans UInt64, log_records UInt64, arrivals UInt64
SELECT
    sum(spans) AS spans,
    sum(log_records) AS log_records,
    sum(arrivals) AS arrivals
FROM receipts FINAL
