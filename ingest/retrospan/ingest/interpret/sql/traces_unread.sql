-- title: traces with records that no interpretation has read, or that another version read, the oldest first
-- params: version String, most UInt64 (rows)
-- returns: tenant, trace_id, records, newest Array(UInt64) (the newest sequence of each log), home
SELECT
    a.tenant,
    a.trace_id,
    sum(a.records) AS records,
    groupArray(a.last) AS newest,
    a.home
FROM
(
    SELECT
        tenant,
        trace_id,
        home,
        count() AS records,
        max(sequence) AS last
    FROM arrivals
    GROUP BY
        tenant,
        trace_id,
        home,
        bitShiftRight(sequence, 40)
) AS a
LEFT JOIN
(
    -- What was read before the column `through` came had one log.
    SELECT
        tenant,
        trace_id,
        if(empty(through), [through_sequence], through) AS through,
        interpreted_by
    FROM canon_traces
    FINAL
) AS t ON t.tenant = a.tenant AND t.trace_id = a.trace_id
WHERE t.interpreted_by != {version:String}
    OR NOT arrayExists(s -> bitShiftRight(s, 40) = bitShiftRight(a.last, 40) AND s >= a.last, t.through)
GROUP BY
    a.tenant,
    a.trace_id,
    a.home
ORDER BY
    newest,
    a.tenant,
    a.trace_id
LIMIT {most:UInt64}
