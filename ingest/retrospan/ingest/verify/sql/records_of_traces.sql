-- title: the records of all logs that hold some of these traces, by any table
-- params: tenant String, trace_ids Array(String)
-- returns: sequence
SELECT DISTINCT sequence
FROM
(
    SELECT sequence
    FROM arrivals
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)} AND home = ''
    UNION ALL
    SELECT sequence
    FROM raw_spans
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    UNION ALL
    SELECT sequence
    FROM raw_logs
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
)
ORDER BY sequence
