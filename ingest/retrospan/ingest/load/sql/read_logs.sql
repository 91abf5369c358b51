-- title: every variant of the log records of some traces
-- params: tenant String, trace_ids Array(String)
-- returns: the fields of retrospan.schemas.raw.RawLog, in order; the last to arrive last
-- PREWHERE, for with FINAL the engine would build every column of every row that lies near a wanted one, and merge
-- them, before it looks at trace_id. Both columns are of the key, so what merges is let through together.
SELECT
    tenant,
    trace_id,
    span_id,
    toString(content_hash),
    sequence,
    toUnixTimestamp64Nano(arrived_at),
    time_ns,
    observed_ns,
    severity_number,
    severity_text,
    event_name,
    body,
    attributes,
    dropped_attributes,
    flags,
    resource_attributes,
    resource_dropped,
    resource_schema_url,
    scope_name,
    scope_version,
    scope_attributes,
    scope_dropped,
    scope_schema_url
FROM raw_logs FINAL
PREWHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
ORDER BY tenant, trace_id, span_id, sequence, content_hash
SETTINGS
    do_not_merge_across_partitions_select_final = 0,
    output_format_json_quote_64bit_integers = 0,
    output_format_json_named_tuples_as_objects = 0,
    output_format_json_validate_utf8 = 0
