-- title: the records of the log that touched some traces
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, number UInt64, sequences Array(UInt64)
SELECT
    trace_id,
    count() AS number,
    arraySort(groupUniqArray(sequence)) AS sequences
FROM arrivals FINAL
WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
GROUP BY trace_id
ORDER BY trace_id
SETTINGS do_not_merge_across_partitions_select_final = 0
