-- title: all traces, in the order in which their raw rows lie: a batch of them is read from a few places
-- params: none
-- returns: tenant, trace_id, records, newest Array(UInt64) (the newest sequence of each log), home
SELECT
    tenant,
    trace_id,
    sum(records) AS records,
    groupArray(last) AS newest,
    '' AS home
FROM
(
    SELECT
        tenant,
        trace_id,
        count() AS records,
        max(sequence) AS last
    FROM arrivals
    GROUP BY
        tenant,
        trace_id,
        bitShiftRight(sequence, 40)
)
GROUP BY
    tenant,
    trace_id
ORDER BY
    tenant,
    trace_id
