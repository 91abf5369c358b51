-- title: put the log records of some traces beside themselves without their payloads, those that are not bare yet
-- The hash is made as in raw_logs_from_landing, so that the same bytes loaded from the log give the same rows.
-- Whoever sends may write the mark: bare is what has nothing but what is kept.
-- params: tenant String, trace_ids Array(String), arrivals Array(Int64) (Unix ns, one for each: what came until then), kept Array(String) (keys), mark String (value of retrospan.redacted on what is bare)
-- returns: nothing
INSERT INTO raw_logs
SELECT
    tenant,
    trace_id,
    span_id,
    reinterpretAsUInt128(sipHash128(
        trace_id,
        span_id,
        time_ns,
        observed_ns,
        severity_number,
        severity_text,
        event_name,
        bare_body,
        retrospan_joined_triples(bare_attributes),
        dropped_attributes,
        flags,
        sipHash128(
            sipHash128(retrospan_joined_triples(resource_attributes), resource_dropped, resource_schema_url),
            scope_name,
            scope_version,
            retrospan_joined_triples(scope_attributes),
            scope_dropped,
            scope_schema_url
        )
    )) AS bare_hash,
    sequence,
    arrived_at,
    time_ns,
    observed_ns,
    severity_number,
    severity_text,
    event_name,
    bare_body,
    bare_attributes,
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
FROM
(
    SELECT
        *,
        CAST(('unset', ''), toTypeName(body)) AS bare_body,
        arrayPushBack(
            arrayFilter(a -> has({kept:Array(String)}, tupleElement(a, 1)), attributes),
            CAST(('retrospan.redacted', 'string', {mark:String}), toTypeName(attributes[1]))
        ) AS bare_attributes
    FROM raw_logs
    WHERE tenant = {tenant:String}
        AND trace_id IN {trace_ids:Array(String)}
        AND toUnixTimestamp64Nano(arrived_at) <= transform(trace_id, {trace_ids:Array(String)}, {arrivals:Array(Int64)}, toInt64(0))
        AND NOT (
            retrospan_has_only_kept(attributes, {kept:Array(String)}, {mark:String})
            AND tupleElement(body, 1) = 'unset'
        )
)
