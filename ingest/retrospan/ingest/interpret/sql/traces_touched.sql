-- title: traces that a range of log records touched
-- params: first UInt64, last UInt64 (sequences of one log, both included)
-- returns: tenant, trace_id, records, newest Array(UInt64) (sequences), home
SELECT
    tenant,
    trace_id,
    count() AS records,
    [max(sequence)] AS newest,
    home
FROM arrivals
WHERE sequence BETWEEN {first:UInt64} AND {last:UInt64}
GROUP BY
    tenant,
    trace_id,
    home
ORDER BY
    newest,
    tenant,
    trace_id
