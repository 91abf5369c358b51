-- title: notes traces in which a span came again
-- The rows of an insert are stored before this reads what is stored, so of two inserts at the same time one sees both.
CREATE MATERIALIZED VIEW IF NOT EXISTS raw_resent_from_raw_spans TO raw_resent AS
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
    FROM
    (
        SELECT
            tenant,
            trace_id,
            span_id,
            content_hash,
            sequence,
            arrived_at,
            1 AS inserted
        FROM raw_spans
        UNION ALL
        SELECT
            tenant,
            trace_id,
            span_id,
            content_hash,
            sequence,
            arrived_at,
            0 AS inserted
        FROM raw_spans_stored
        WHERE trace_id IN (SELECT trace_id FROM raw_spans)
    )
    GROUP BY
        tenant,
        trace_id,
        span_id
    HAVING countIf(inserted = 1) > 1 OR countIf(inserted = 0) > 1 OR uniqExact(sequence, content_hash) > 1
)
GROUP BY
    tenant,
    trace_id
