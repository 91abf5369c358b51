-- title: traces that some records touched, in the order in which their raw rows lie
-- params: firsts Array(UInt64), lasts Array(UInt64) (sequences, ascending), limit UInt64
-- returns: tenant, trace_id
SELECT DISTINCT
    tenant,
    trace_id
FROM arrivals
WHERE arrayExists((a, b) -> sequence BETWEEN a AND b, {firsts:Array(UInt64)}, {lasts:Array(UInt64)})
ORDER BY tenant, trace_id
LIMIT {limit:UInt64}
