-- title: how much there is to read of some traces
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, records (spans and log records), bytes (of the values of their attributes, events and bodies)
-- The lengths of values lie apart from the values, and are all that is read.
SELECT
    trace_id,
    sum(rows) AS records,
    sum(size) AS bytes
FROM
(
    SELECT
        trace_id,
        count() AS rows,
        sum(
            arraySum(attributes.value.size)
            + 16 * length(attributes)
            + arraySum(of_event -> arraySum(of_event), events.attributes.value.size)
        ) AS size
    FROM raw_spans
    PREWHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    GROUP BY trace_id
    UNION ALL
    SELECT
        trace_id,
        count() AS rows,
        sum(body.value.size + arraySum(attributes.value.size) + 16 * length(attributes)) AS size
    FROM raw_logs
    PREWHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    GROUP BY trace_id
)
GROUP BY trace_id
ORDER BY trace_id
