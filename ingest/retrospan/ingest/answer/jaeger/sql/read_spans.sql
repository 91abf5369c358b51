-- title: spans as sent, whole; the last to arrive of several variants
-- params: traces Array(String), spans Array(String)
-- returns: the columns of raw_spans that Jaeger's clients are shown
SELECT
    trace_id,
    span_id,
    parent_span_id,
    trace_state,
    flags,
    toString(name) AS name,
    kind,
    started_ns,
    ended_ns,
    status_code,
    status_message,
    attributes,
    dropped_attributes,
    events,
    dropped_events,
    links,
    dropped_links,
    resource_attributes,
    resource_dropped,
    toString(resource_schema_url) AS resource_schema_url,
    toString(scope_name) AS scope_name,
    toString(scope_version) AS scope_version,
    scope_attributes,
    toString(scope_schema_url) AS scope_schema_url
FROM raw_spans
WHERE trace_id IN {traces:Array(String)} AND span_id IN {spans:Array(String)}
ORDER BY sequence DESC, content_hash DESC
LIMIT 1 BY trace_id, span_id
