-- title: every variant of the spans of some traces, a page of them
-- params: tenant String, trace_ids Array(String), after_trace String, after_span String (the last of the page before),
--     most UInt64 (rows; all variants of the last span come with it)
-- returns: the fields of retrospan.schemas.raw.RawSpan, in order; by trace and span
-- PREWHERE, for with FINAL the engine would build every column of every row that lies near a wanted one, and merge
-- them, before it looks at trace_id. All columns are of the key, so what merges is let through together.
-- The order is the key's: the engine reads on until the page is full, and sorts nothing. In one thread: two hold twice as
-- much of what lies behind the page, and take more of the processor for it.
SELECT
    tenant,
    trace_id,
    span_id,
    toString(content_hash),
    sequence,
    toUnixTimestamp64Nano(arrived_at),
    parent_span_id,
    trace_state,
    flags,
    name,
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
    resource_schema_url,
    scope_name,
    scope_version,
    scope_attributes,
    scope_dropped,
    scope_schema_url
FROM raw_spans FINAL
PREWHERE tenant = {tenant:String}
    AND trace_id IN {trace_ids:Array(String)}
    AND (trace_id, span_id) > ({after_trace:String}, {after_span:String})
ORDER BY tenant, trace_id, span_id
LIMIT {most:UInt64} WITH TIES
SETTINGS
    max_threads = 1,
    do_not_merge_across_partitions_select_final = 0,
    output_format_json_quote_64bit_integers = 0,
    output_format_json_named_tuples_as_objects = 0,
    output_format_json_validate_utf8 = 0
