-- title: what a range of log records says of models that answered, outside any trace
-- params: first UInt64, last UInt64 (sequences of one log, both included), before UInt64 (a sequence not far below the first), models Array(String) (names of attributes)
-- returns: tenant, began UInt64, ended UInt64 (Unix ns of the earliest and the latest), newest (sequence), texts Array(String) (what may be the id of a conversation)
SELECT
    tenant,
    min(if(time_ns = 0, observed_ns, time_ns)) AS began,
    max(if(time_ns = 0, observed_ns, time_ns)) AS ended,
    max(sequence) AS newest,
    groupUniqArrayArray(
        arrayFilter(v -> length(v) BETWEEN 8 AND 256, arrayMap(a -> if(a.kind = 'string', a.value, ''), attributes))
    ) AS texts
FROM raw_logs
PREWHERE trace_id = ''
    AND sequence BETWEEN {first:UInt64} AND {last:UInt64}
    -- Days before it have nothing of the range: records arrive in the order of their sequences.
    AND arrived_at >= (
        SELECT max(arrived_at) - toIntervalHour(1)
        FROM arrivals
        WHERE sequence BETWEEN {before:UInt64} AND {first:UInt64}
    )
WHERE arrayExists(a -> a.key IN {models:Array(String)}, attributes)
GROUP BY tenant
ORDER BY tenant
