-- title: log records of no trace that name a conversation and the model that answered, from some minutes
-- params: tenant String, minutes Array(UInt64) (since 1970, of the producer's clock), conversations Array(String) (values of attributes), models Array(String) (names of attributes)
-- returns: the fields of retrospan.schemas.raw.RawLog, in order
-- Few columns are read of the others: their times lie together.
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
FROM raw_logs
PREWHERE tenant = {tenant:String}
    AND trace_id = ''
    AND intDiv(if(time_ns = 0, observed_ns, time_ns), 60000000000) IN {minutes:Array(UInt64)}
WHERE arrayExists(a -> a.key IN {models:Array(String)}, attributes)
    AND arrayExists(a -> a.value IN {conversations:Array(String)}, attributes)
ORDER BY sequence, content_hash
LIMIT 1 BY content_hash
SETTINGS
    output_format_json_quote_64bit_integers = 0,
    output_format_json_named_tuples_as_objects = 0,
    output_format_json_validate_utf8 = 0
