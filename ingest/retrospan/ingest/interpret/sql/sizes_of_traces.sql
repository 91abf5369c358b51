-- title: how much there is to read of some traces
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, records (spans and log records), bytes (of their attributes and bodies)
SELECT
    trace_id,
    sum(rows) AS records,
    sum(size) AS bytes
FROM
(
    SELECT
        trace_id,
        count() AS rows,
        sum(byteSize(attributes)) AS size
    FROM raw_spans
    PREWHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    GROUP BY trace_id
    UNION ALL
    SELECT
        trace_id,
        count() AS rows,
        sum(byteSize(attributes, body)) AS size
    FROM raw_logs
    PREWHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    GROUP BY trace_id
)
GROUP BY trace_id
ORDER BY trace_id
