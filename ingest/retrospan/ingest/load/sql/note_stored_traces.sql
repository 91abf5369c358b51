-- title: note the traces of stored spans that are about to be loaded again, from a record on
-- params: first UInt64
-- returns: nothing
INSERT INTO raw_resent (tenant, trace_id, arrived_at)
SELECT
    tenant,
    trace_id,
    max(newest) AS arrived_at
FROM
(
    SELECT
        tenant,
        trace_id,
        max(arrived_at) AS newest
    FROM raw_spans
    WHERE sequence >= {first:UInt64}
    GROUP BY
        tenant,
        trace_id,
        span_id
)
GROUP BY
    tenant,
    trace_id
SETTINGS optimize_aggregation_in_order = 1, max_threads = 1
