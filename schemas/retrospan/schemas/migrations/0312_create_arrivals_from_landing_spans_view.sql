-- title: notes which traces each record touched that holds spans and nothing else
CREATE MATERIALIZED VIEW IF NOT EXISTS arrivals_from_landing_spans TO arrivals AS
SELECT
    tenant,
    lower(hex(touched)) AS trace_id,
    sequence,
    arrived_at
FROM
(
    SELECT
        tenant,
        bitShiftLeft(log, 40) + sequence AS sequence,
        fromUnixTimestamp64Nano(toInt64(arrived_at), 'UTC') AS arrived_at,
        arrayJoin(arrayDistinct(arrayFlatten(
            arrayMap(r -> arrayMap(s -> arrayMap(i -> tupleElement(i, 'trace_id'), tupleElement(s, 'spans')), tupleElement(r, 'scope_spans')), tupleElement(traces, 'resource_spans'))
        ))) AS touched
    FROM landing_spans
)
