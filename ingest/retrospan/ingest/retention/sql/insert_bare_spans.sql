-- title: put the spans of some traces beside themselves without their payloads, those that are not bare yet
-- The hash is made as in raw_spans_from_landing, so that the same bytes loaded from the log give the same rows.
-- Whoever sends may write the mark: bare is what has nothing but what is kept.
-- params: tenant String, trace_ids Array(String), arrivals Array(Int64) (Unix ns, one for each: what came until then), kept Array(String) (keys), mark String (value of retrospan.redacted on what is bare)
-- returns: nothing
INSERT INTO raw_spans
SELECT
    tenant,
    trace_id,
    span_id,
    reinterpretAsUInt128(sipHash128(
        trace_id,
        span_id,
        parent_span_id,
        trace_state,
        flags,
        name,
        kind,
        started_ns,
        ended_ns,
        status_code,
        '',
        retrospan_joined_triples(bare_attributes),
        dropped_attributes,
        bare_events,
        dropped_events,
        bare_links,
        dropped_links,
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
    parent_span_id,
    trace_state,
    flags,
    name,
    kind,
    started_ns,
    ended_ns,
    status_code,
    '' AS bare_message,
    bare_attributes,
    dropped_attributes,
    bare_events,
    dropped_events,
    bare_links,
    dropped_links,
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
        arrayPushBack(
            arrayFilter(a -> has({kept:Array(String)}, tupleElement(a, 1)), attributes),
            CAST(('retrospan.redacted', 'string', {mark:String}), toTypeName(attributes[1]))
        ) AS bare_attributes,
        arrayMap(
            e -> tuple(
                tupleElement(e, 1),
                tupleElement(e, 2),
                arrayFilter(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(e, 3)),
                tupleElement(e, 4)
            ),
            events
        ) AS bare_events,
        arrayMap(
            l -> tuple(
                tupleElement(l, 1),
                tupleElement(l, 2),
                tupleElement(l, 3),
                tupleElement(l, 4),
                arrayFilter(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(l, 5)),
                tupleElement(l, 6)
            ),
            links
        ) AS bare_links
    FROM raw_spans
    WHERE tenant = {tenant:String}
        AND trace_id IN {trace_ids:Array(String)}
        AND toUnixTimestamp64Nano(arrived_at) <= transform(trace_id, {trace_ids:Array(String)}, {arrivals:Array(Int64)}, toInt64(0))
        AND NOT (
            retrospan_has_only_kept(attributes, {kept:Array(String)}, {mark:String})
            AND status_message = ''
            AND arrayAll(e -> arrayAll(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(e, 3)), events)
            AND arrayAll(l -> arrayAll(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(l, 5)), links)
        )
)
