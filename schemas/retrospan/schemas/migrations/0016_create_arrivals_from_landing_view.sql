-- title: notes which traces each log record touched
CREATE MATERIALIZED VIEW IF NOT EXISTS arrivals_from_landing TO arrivals AS
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
        arrayJoin(arrayDistinct(arrayConcat(
            arrayFlatten(arrayMap(r -> arrayMap(s -> arrayMap(i -> tupleElement(i, 'trace_id'), tupleElement(s, 'spans')), tupleElement(r, 'scope_spans')), tupleElement(traces, 'resource_spans'))),
            -- a log record outside any trace belongs to none
            arrayFilter(t -> notEmpty(t), arrayFlatten(
                arrayMap(r -> arrayMap(s -> arrayMap(i -> tupleElement(i, 'trace_id'), tupleElement(s, 'log_records')), tupleElement(r, 'scope_logs')), tupleElement(logs, 'resource_logs'))
            ))
        ))) AS touched
    FROM landing
)
