-- title: spans, one row each as sent; the last to arrive of several variants
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   trace_id String: trace, lower hex
--   span_id String: span, lower hex
--   parent_span_id String: span it was started under; '' for a root
--   run_id String: run it belongs to; '' if it belongs to none, or is not yet interpreted
--   name String: name of the span
--   kind LowCardinality(String): unspecified, internal, server, client, producer or consumer
--   operation LowCardinality(String): what it does (inference, tool, agent, other, ...); '' until interpreted
--   dialect LowCardinality(String): instrumentation that wrote it; '' if none is recognised
--   service_name Nullable(String): resource attribute service.name
--   scope_name String: instrumentation scope
--   started_at DateTime64(9, 'UTC'): start by the producer's clock; 1970 if none was sent
--   ended_at Nullable(DateTime64(9, 'UTC')): end by the producer's clock; NULL if none was sent
--   duration_ms Nullable(Float64): milliseconds; NULL if a time is missing or the end is before the start
--   status LowCardinality(String): ok, error or unset
--   status_message String: the producer's status text
--   attributes Map(String, String): strings as they are, others as JSON, bytes in base64; the last of equal keys
--   resource Map(String, String): resource attributes in the same form
--   events String: JSON array of objects with name, time_unix_nano, attributes, dropped_attributes_count
--   links String: JSON array of objects with trace_id, span_id, trace_state, flags, attributes, dropped_attributes_count
--   dropped UInt32: attributes, events and links that the producer says it dropped
--   variants UInt16: how many different contents arrived under this identity
--   skewed Bool: start and arrival are more than a day apart
--   ingested_at DateTime64(9, 'UTC'): arrival of the variant shown
-- note: the SQL port finds `run_id = …`, `span_id = …` and `attributes['key'] = '…'` by indexes, and a window that begins at a fixed time (`ingested_at >= …`) by the traces of that time, wherever WHERE compares them with values in a statement over this view alone (no WITH, JOIN, UNION or BETWEEN).
-- example: SELECT span_id, parent_span_id, name, operation, duration_ms FROM spans WHERE run_id = {run_id:String} ORDER BY started_at
-- example: SELECT name, count() AS spans FROM spans GROUP BY name ORDER BY spans DESC LIMIT 20
SELECT
    r.tenant AS tenant,
    r.trace_id AS trace_id,
    r.span_id AS span_id,
    r.parent_span_id AS parent_span_id,
    c.run_id AS run_id,
    toString(r.name) AS name,
    CAST(
        transform(
            r.kind,
            [1, 2, 3, 4, 5],
            ['internal', 'server', 'client', 'producer', 'consumer'],
            'unspecified'
        ),
        'LowCardinality(String)'
    ) AS kind,
    c.operation AS operation,
    c.dialect AS dialect,
    nullIf(toString(r.service_name), '') AS service_name,
    toString(r.scope_name) AS scope_name,
    -- DateTime64(9) ends in 2262 where Int64 nanoseconds end.
    fromUnixTimestamp64Nano(toInt64(least(r.started_ns, 9223372036854775807)), 'UTC') AS started_at,
    if(
        r.ended_ns = 0,
        NULL,
        fromUnixTimestamp64Nano(toInt64(least(r.ended_ns, 9223372036854775807)), 'UTC')
    ) AS ended_at,
    if(
        r.started_ns = 0 OR r.ended_ns = 0 OR r.ended_ns < r.started_ns,
        NULL,
        (r.ended_ns - r.started_ns) / 1e6
    ) AS duration_ms,
    CAST(transform(r.status_code, [1, 2], ['ok', 'error'], 'unset'), 'LowCardinality(String)') AS status,
    r.status_message AS status_message,
    retrospan_attribute_texts(r.attributes, c.rendered) AS attributes,
    retrospan_attribute_texts(r.resource_attributes, c.rendered) AS resource,
    concat(
        '[',
        arrayStringConcat(
            arrayMap(
                x -> concat(
                    '{"name":',
                    toJSONString(x.name),
                    ',"time_unix_nano":"',
                    toString(x.time_ns),
                    '","attributes":',
                    retrospan_attributes_json(x.attributes),
                    ',"dropped_attributes_count":',
                    toString(x.dropped),
                    '}'
                ),
                r.events
            ),
            ','
        ),
        ']'
    ) AS events,
    concat(
        '[',
        arrayStringConcat(
            arrayMap(
                x -> concat(
                    '{"trace_id":',
                    toJSONString(x.trace_id),
                    ',"span_id":',
                    toJSONString(x.span_id),
                    ',"trace_state":',
                    toJSONString(x.trace_state),
                    ',"flags":',
                    toString(x.flags),
                    ',"attributes":',
                    retrospan_attributes_json(x.attributes),
                    ',"dropped_attributes_count":',
                    toString(x.dropped),
                    '}'
                ),
                r.links
            ),
            ','
        ),
        ']'
    ) AS links,
    toUInt32(
        least(toUInt64(r.dropped_attributes) + r.dropped_events + r.dropped_links, 4294967295)
    ) AS dropped,
    r.variants AS variants,
    CAST(abs(dateDiff('second', started_at, r.arrived_at)) > 86400, 'Bool') AS skewed,
    r.arrived_at AS ingested_at
FROM
(
    -- Almost every span lies in one row, which is read as it is, so conditions reach the table. Where a trace has spans
    -- that came again, rows are grouped: exact whether or not equal rows have merged yet, so no FINAL is needed.
    SELECT
        tenant,
        trace_id,
        span_id,
        parent_span_id,
        arrived_at,
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
        service_name,
        scope_name,
        toUInt16(1) AS variants
    FROM raw_spans
    WHERE trace_id NOT IN (SELECT trace_id FROM raw_resent)
    UNION ALL
    SELECT
        w.tenant AS tenant,
        w.trace_id AS trace_id,
        w.span_id AS span_id,
        argMax(w.parent_span_id, (w.sequence, w.content_hash)) AS parent_span_id,
        argMax(w.arrived_at, (w.sequence, w.content_hash)) AS arrived_at,
        argMax(w.name, (w.sequence, w.content_hash)) AS name,
        argMax(w.kind, (w.sequence, w.content_hash)) AS kind,
        argMax(w.started_ns, (w.sequence, w.content_hash)) AS started_ns,
        argMax(w.ended_ns, (w.sequence, w.content_hash)) AS ended_ns,
        argMax(w.status_code, (w.sequence, w.content_hash)) AS status_code,
        argMax(w.status_message, (w.sequence, w.content_hash)) AS status_message,
        argMax(w.attributes, (w.sequence, w.content_hash)) AS attributes,
        argMax(w.dropped_attributes, (w.sequence, w.content_hash)) AS dropped_attributes,
        argMax(w.events, (w.sequence, w.content_hash)) AS events,
        argMax(w.dropped_events, (w.sequence, w.content_hash)) AS dropped_events,
        argMax(w.links, (w.sequence, w.content_hash)) AS links,
        argMax(w.dropped_links, (w.sequence, w.content_hash)) AS dropped_links,
        argMax(w.resource_attributes, (w.sequence, w.content_hash)) AS resource_attributes,
        argMax(w.service_name, (w.sequence, w.content_hash)) AS service_name,
        argMax(w.scope_name, (w.sequence, w.content_hash)) AS scope_name,
        toUInt16(least(uniqExact(w.content_hash), 65535)) AS variants
    FROM raw_spans AS w
    WHERE w.trace_id IN (SELECT trace_id FROM raw_resent)
    GROUP BY w.tenant, w.trace_id, w.span_id
) AS r
LEFT JOIN
(
    SELECT
        s.tenant AS tenant,
        s.trace_id AS trace_id,
        s.span_id AS span_id,
        s.run_id AS run_id,
        s.operation AS operation,
        s.dialect AS dialect,
        s.rendered AS rendered
    FROM canon_spans AS s
    INNER JOIN (SELECT tenant, trace_id, generation FROM canon_traces FINAL) AS p USING (tenant, trace_id, generation)
) AS c USING (tenant, trace_id, span_id)
SETTINGS
    do_not_merge_across_partitions_select_final = 0,
    join_use_nulls = 0,
    output_format_json_escape_forward_slashes = 0
