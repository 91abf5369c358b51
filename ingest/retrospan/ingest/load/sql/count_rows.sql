-- title: the rows of each raw table, each counted once
-- params: none
-- returns: table String, rows UInt64
SELECT 'raw_spans' AS table, count() AS rows FROM raw_spans FINAL
UNION ALL
SELECT 'raw_logs' AS table, count() AS rows FROM raw_logs FINAL
UNION ALL
SELECT 'raw_rejects' AS table, count() AS rows FROM raw_rejects FINAL
UNION ALL
SELECT 'arrivals' AS table, count() AS rows FROM arrivals FINAL
SETTINGS do_not_merge_across_partitions_select_final = 0
