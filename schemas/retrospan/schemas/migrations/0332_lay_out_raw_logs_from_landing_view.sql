-- title: the view over landing that unnests log records, with the function of triples as it is now
-- What it selects is what it selected, word for word: a view keeps what a function was when it was made.
ALTER TABLE raw_logs_from_landing
    MODIFY QUERY
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
        body,
        retrospan_joined_triples(attributes),
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
    )) AS content_hash,
    sequence,
    arrived_at,
    time_ns,
    observed_ns,
    severity_number,
    severity_text,
    event_name,
    tuple(tupleElement(triples[1], 2), tupleElement(triples[1], 3)) AS body,
    arraySlice(triples, 2) AS attributes,
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
        tupleElement(i, 'time_unix_nano') AS time_ns,
        tupleElement(i, 'observed_time_unix_nano') AS observed_ns,
        tupleElement(i, 'severity_number') AS severity_number,
        tupleElement(i, 'severity_text') AS severity_text,
        tupleElement(i, 'event_name') AS event_name,
        -- The body is read like an attribute without a key, in front of the others.
        retrospan_triples(
            arrayPushFront(tupleElement(tupleElement(i, 'attributes'), 'key'), ''),
            arrayPushFront(tupleElement(tupleElement(i, 'attributes'), 'value'), tupleElement(i, 'body'))
        ) AS triples,
        tupleElement(i, 'dropped_attributes_count') AS dropped_attributes,
        tupleElement(i, 'flags') AS flags
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
            arrayJoin(tupleElement(s, 'log_records')) AS i
        FROM
        (
            SELECT
                sequence,
                tenant,
                arrived_at,
                retrospan_triples(tupleElement(tupleElement(tupleElement(r, 'resource'), 'attributes'), 'key'), tupleElement(tupleElement(tupleElement(r, 'resource'), 'attributes'), 'value')) AS resource_attributes,
                tupleElement(tupleElement(r, 'resource'), 'dropped_attributes_count') AS resource_dropped,
                tupleElement(r, 'schema_url') AS resource_schema_url,
                arrayJoin(tupleElement(r, 'scope_logs')) AS s
            FROM
            (
                SELECT
                    bitShiftLeft(log, 40) + sequence AS sequence,
                    tenant,
                    fromUnixTimestamp64Nano(toInt64(arrived_at), 'UTC') AS arrived_at,
                    arrayJoin(tupleElement(logs, 'resource_logs')) AS r
                FROM landing
            )
        )
    )
)
