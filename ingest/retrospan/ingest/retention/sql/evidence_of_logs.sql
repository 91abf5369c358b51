-- title: what there is of the log records of some traces: how many, their size without compression, their hash
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, number UInt64, bytes UInt64, hash String (SHA-256, hex), arrived_ns Int64 (the last arrival)
SELECT
    trace_id,
    count() AS number,
    sum(byteSize(span_id, severity_text, event_name, body, attributes, resource_attributes, scope_attributes)) AS bytes,
    lower(hex(SHA256(arrayStringConcat(arraySort(groupArray(concat(span_id, ':', toString(content_hash)))), '\n')))) AS hash,
    max(toUnixTimestamp64Nano(arrived_at)) AS arrived_ns
FROM raw_logs FINAL
WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
GROUP BY trace_id
ORDER BY trace_id
SETTINGS do_not_merge_across_partitions_select_final = 0
