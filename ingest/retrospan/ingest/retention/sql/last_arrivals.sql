-- title: the last arrival of a span or log record of some traces
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, arrived_ns Int64
SELECT trace_id, max(toUnixTimestamp64Nano(arrived_at)) AS arrived_ns
FROM
(
    SELECT trace_id, arrived_at
    FROM raw_spans
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    UNION ALL
    SELECT trace_id, arrived_at
    FROM raw_logs
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
)
GROUP BY trace_id
ORDER BY trace_id
