-- title: the keys of stored spans, for views over the rows of an insert: there `raw_spans` is what is being inserted
CREATE VIEW IF NOT EXISTS raw_spans_stored AS
SELECT
    tenant,
    trace_id,
    span_id,
    content_hash,
    sequence,
    arrived_at
FROM raw_spans
