-- title: notes traces in which a span came again
-- It sees what earlier inserts stored, and may or may not see its own rows there. The very same row, loaded again from the
-- log, it cannot tell from itself: the loader notes such traces before it loads.
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
