-- title: how many traces hold records that arrived up to a time and that no interpretation has read, and one of them
-- params: until Int64 (Unix ns)
-- returns: number, trace_id ('' when there is none)
SELECT uniqExact((a.tenant, a.trace_id)) AS number, min(a.trace_id) AS first_trace
FROM
(
    SELECT
        tenant,
        trace_id,
        max(sequence) AS last
    FROM arrivals
    WHERE arrived_at <= fromUnixTimestamp64Nano({until:Int64}, 'UTC')
    GROUP BY
        tenant,
        trace_id,
        bitShiftRight(sequence, 40)
) AS a
LEFT JOIN
(
    -- What was read before the column `through` came had one log.
    SELECT
        tenant,
        trace_id,
        if(empty(through), [through_sequence], through) AS through
    FROM canon_traces
    FINAL
) AS t ON t.tenant = a.tenant AND t.trace_id = a.trace_id
WHERE NOT arrayExists(s -> bitShiftRight(s, 40) = bitShiftRight(a.last, 40) AND s >= a.last, t.through)
