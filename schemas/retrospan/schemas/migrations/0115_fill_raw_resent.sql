-- title: traces in which a span came again before this release
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
    GROUP BY
        tenant,
        trace_id,
        span_id
    HAVING count() > 1
)
GROUP BY
    tenant,
    trace_id
SETTINGS optimize_aggregation_in_order = 1, max_threads = 1
