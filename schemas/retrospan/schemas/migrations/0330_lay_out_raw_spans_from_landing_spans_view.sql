-- title: the view over landing_spans that unnests spans of records that hold nothing else, with the function of triples as it is now
-- What it selects is what it selected, word for word: a view keeps what a function was when it was made.
ALTER TABLE raw_spans_from_landing_spans
    MODIFY QUERY
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
        status_message,
        retrospan_joined_triples(attributes),
        dropped_attributes,
        events,
        dropped_events,
        links,
        dropped_links,
        sipHash128(
            sipHash128(retrospan_joined_triples(resource_attributes), resource_dropped, resource_schema_url),
            scope_name,
            scope_version,
            retrospan_joined_triples(scope_attributes),
            scope_dropped,
            scope_schema_url
        )
    )) AS content_hash,
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
FROM
(
    SELECT
        sequence,
        tenant,
        arrived_at,
        resource_attributes,
        resource_dropped,
        resource_schema_url,
        scope_name,
        scope_version,
        scope_attributes,
        scope_dropped,
        scope_schema_url,
        lower(hex(tupleElement(i, 'trace_id'))) AS trace_id,
        lower(hex(tupleElement(i, 'span_id'))) AS span_id,
        lower(hex(tupleElement(i, 'parent_span_id'))) AS parent_span_id,
        tupleElement(i, 'trace_state') AS trace_state,
        tupleElement(i, 'flags') AS flags,
        tupleElement(i, 'name') AS name,
        tupleElement(i, 'kind') AS kind,
        tupleElement(i, 'start_time_unix_nano') AS started_ns,
        tupleElement(i, 'end_time_unix_nano') AS ended_ns,
        tupleElement(tupleElement(i, 'status'), 'code') AS status_code,
        tupleElement(tupleElement(i, 'status'), 'message') AS status_message,
        retrospan_triples(tupleElement(tupleElement(i, 'attributes'), 'key'), tupleElement(tupleElement(i, 'attributes'), 'value')) AS attributes,
        tupleElement(i, 'dropped_attributes_count') AS dropped_attributes,
        arrayMap(
            e -> tuple(
                tupleElement(e, 'time_unix_nano'),
                tupleElement(e, 'name'),
                retrospan_triples(tupleElement(tupleElement(e, 'attributes'), 'key'), tupleElement(tupleElement(e, 'attributes'), 'value')),
                tupleElement(e, 'dropped_attributes_count')
            ),
            tupleElement(i, 'events')
        ) AS events,
        tupleElement(i, 'dropped_events_count') AS dropped_events,
        arrayMap(
            l -> tuple(
                lower(hex(tupleElement(l, 'trace_id'))),
                lower(hex(tupleElement(l, 'span_id'))),
                tupleElement(l, 'trace_state'),
                tupleElement(l, 'flags'),
                retrospan_triples(tupleElement(tupleElement(l, 'attributes'), 'key'), tupleElement(tupleElement(l, 'attributes'), 'value')),
                tupleElement(l, 'dropped_attributes_count')
            ),
            tupleElement(i, 'links')
        ) AS links,
        tupleElement(i, 'dropped_links_count') AS dropped_links
    FROM
    (
        SELECT
            sequence,
            tenant,
            arrived_at,
            resource_attributes,
            resource_dropped,
            resource_schema_url,
            tupleElement(tupleElement(s, 'scope'), 'name') AS scope_name,
            tupleElement(tupleElement(s, 'scope'), 'version') AS scope_version,
            retrospan_triples(tupleElement(tupleElement(tupleElement(s, 'scope'), 'attributes'), 'key'), tupleElement(tupleElement(tupleElement(s, 'scope'), 'attributes'), 'value')) AS scope_attributes,
            tupleElement(tupleElement(s, 'scope'), 'dropped_attributes_count') AS scope_dropped,
            tupleElement(s, 'schema_url') AS scope_schema_url,
            arrayJoin(tupleElement(s, 'spans')) AS i
        FROM
        (
            SELECT
                sequence,
                tenant,
                arrived_at,
                retrospan_triples(tupleElement(tupleElement(tupleElement(r, 'resource'), 'attributes'), 'key'), tupleElement(tupleElement(tupleElement(r, 'resource'), 'attributes'), 'value')) AS resource_attributes,
                tupleElement(tupleElement(r, 'resource'), 'dropped_attributes_count') AS resource_dropped,
                tupleElement(r, 'schema_url') AS resource_schema_url,
                arrayJoin(tupleElement(r, 'scope_spans')) AS s
            FROM
            (
                SELECT
                    bitShiftLeft(log, 40) + sequence AS sequence,
                    tenant,
                    fromUnixTimestamp64Nano(toInt64(arrived_at), 'UTC') AS arrived_at,
                    arrayJoin(tupleElement(traces, 'resource_spans')) AS r
                FROM landing_spans
            )
        )
    )
)
