-- title: logs, one row per log record as sent, with the run and the step that it belongs to
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: run of its span; of a record whose span is not known, the run of its trace, if that has one only; else ''
--   trace_id String: trace, lower hex; '' if the record names none
--   span_id String: span that was current, lower hex; '' if none was
--   step Nullable(UInt32): step that the span is; NULL if it is none
--   at DateTime64(9, 'UTC'): when it happened, else when it was noticed, by the producer's clock; 1970 if neither was sent
--   severity LowCardinality(Nullable(String)): TRACE, DEBUG, INFO, WARN, ERROR or FATAL; NULL if the record has none
--   event_name LowCardinality(String): name of the event that it is; '' for a plain record
--   body String: a string as it is, anything else as JSON, bytes in base64; '' if there is none
--   attributes Map(String, String): strings as they are, others as JSON, bytes in base64; the last of equal keys
--   severity_text LowCardinality(String): the producer's own word for the severity
--   scope_name LowCardinality(String): instrumentation scope
--   service_name Nullable(String): resource attribute service.name
--   ingested_at DateTime64(9, 'UTC'): when it arrived
-- note: a filter by run_id or trace_id reads what that run or trace costs. Order by `at` for a run's records in order.
-- example: SELECT at, severity, event_name, body FROM logs WHERE run_id = {run_id:String} ORDER BY at
-- example: SELECT severity, count() AS records FROM logs GROUP BY severity ORDER BY records DESC
WITH shared AS
(
    -- The few traces of several runs: there the span tells whose a record is.
    SELECT tenant, trace_id
    FROM canon_traces
    WHERE (tenant, trace_id) IN (SELECT tenant, trace_id FROM canon_traces WHERE length(run_ids) > 1)
    GROUP BY tenant, trace_id
    HAVING argMax(length(run_ids), generation) > 1
)
SELECT
    l.tenant AS tenant,
    l.run_id AS run_id,
    l.trace_id AS trace_id,
    l.span_id AS span_id,
    nullIf(s.step, 0) AS step,
    -- DateTime64(9) ends in 2262 where Int64 nanoseconds end.
    fromUnixTimestamp64Nano(
        toInt64(least(if(l.time_ns = 0, l.observed_ns, l.time_ns), 9223372036854775807)),
        'UTC'
    ) AS at,
    CAST(
        multiIf(
            l.severity_number BETWEEN 1 AND 24,
            ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'][intDiv(l.severity_number - 1, 4) + 1],
            transform(
                upper(toString(l.severity_text)),
                ['TRACE', 'DEBUG', 'INFO', 'INFORMATION', 'NOTICE', 'WARN', 'WARNING', 'ERROR', 'CRITICAL', 'FATAL'],
                ['TRACE', 'DEBUG', 'INFO', 'INFO', 'INFO', 'WARN', 'WARN', 'ERROR', 'FATAL', 'FATAL'],
                NULL
            )
        ),
        'LowCardinality(Nullable(String))'
    ) AS severity,
    CAST(
        if(
            l.event_name != '',
            toString(l.event_name),
            arrayLast(a -> a.key = 'event.name' AND a.kind = 'string', l.attributes).value
        ),
        'LowCardinality(String)'
    ) AS event_name,
    multiIf(
        l.body.kind = 'unset', '',
        l.body.kind = 'double', retrospan_double_json(l.body.value),
        l.body.kind IN ('array*', 'kvlist*') AND t.body != '', t.body,
        l.body.value
    ) AS body,
    retrospan_attribute_texts(l.attributes, t.attributes) AS attributes,
    l.severity_text AS severity_text,
    l.scope_name AS scope_name,
    nullIf(arrayLast(a -> a.key = 'service.name', l.resource_attributes).value, '') AS service_name,
    l.arrived_at AS ingested_at
FROM
(
    -- Of a trace with one run all is that run's. Two parts, for one condition over both would be asked of every record.
    SELECT
        w.tenant AS tenant,
        w.trace_id AS trace_id,
        w.span_id AS span_id,
        w.content_hash AS content_hash,
        w.arrived_at AS arrived_at,
        w.time_ns AS time_ns,
        w.observed_ns AS observed_ns,
        w.severity_number AS severity_number,
        w.severity_text AS severity_text,
        w.event_name AS event_name,
        w.body AS body,
        w.attributes AS attributes,
        w.resource_attributes AS resource_attributes,
        w.scope_name AS scope_name,
        r.run_id AS run_id,
        r.generation AS generation
    FROM
    (
        -- Exact whether or not equal rows have merged yet. With FINAL a run's records would read those of every run.
        SELECT
            tenant,
            trace_id,
            span_id,
            content_hash,
            arrived_at,
            time_ns,
            observed_ns,
            severity_number,
            severity_text,
            event_name,
            body,
            attributes,
            resource_attributes,
            scope_name
        FROM raw_logs
        WHERE (tenant, trace_id) NOT IN (SELECT tenant, trace_id FROM shared)
        LIMIT 1 BY tenant, trace_id, span_id, content_hash
    ) AS w
    LEFT JOIN
    (
        SELECT tenant, run_id, generation, arrayJoin(trace_ids) AS trace_id
        FROM canon_runs FINAL
        WHERE NOT deleted
    ) AS r ON r.tenant = w.tenant AND r.trace_id = w.trace_id
    UNION ALL
    SELECT
        w.tenant AS tenant,
        w.trace_id AS trace_id,
        w.span_id AS span_id,
        w.content_hash AS content_hash,
        w.arrived_at AS arrived_at,
        w.time_ns AS time_ns,
        w.observed_ns AS observed_ns,
        w.severity_number AS severity_number,
        w.severity_text AS severity_text,
        w.event_name AS event_name,
        w.body AS body,
        w.attributes AS attributes,
        w.resource_attributes AS resource_attributes,
        w.scope_name AS scope_name,
        c.run_id AS run_id,
        c.generation AS generation
    FROM
    (
        SELECT
            tenant,
            trace_id,
            span_id,
            content_hash,
            arrived_at,
            time_ns,
            observed_ns,
            severity_number,
            severity_text,
            event_name,
            body,
            attributes,
            resource_attributes,
            scope_name
        FROM raw_logs
        WHERE (tenant, trace_id) IN (SELECT tenant, trace_id FROM shared)
        LIMIT 1 BY tenant, trace_id, span_id, content_hash
    ) AS w
    LEFT JOIN
    (
        SELECT x.tenant AS tenant, x.run_id AS run_id, x.generation AS generation, x.trace_id AS trace_id, x.span_id AS span_id
        FROM canon_spans AS x
        INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
            USING (tenant, run_id, generation)
        WHERE (x.tenant, x.trace_id) IN (SELECT tenant, trace_id FROM shared)
    ) AS c ON c.tenant = w.tenant AND c.trace_id = w.trace_id AND c.span_id = w.span_id
) AS l
LEFT JOIN
(
    SELECT tenant, run_id, generation, trace_id, span_id, min(step) AS step
    FROM canon_steps
    GROUP BY tenant, run_id, generation, trace_id, span_id
) AS s
    ON s.tenant = l.tenant
    AND s.run_id = l.run_id
    AND s.generation = l.generation
    AND s.trace_id = l.trace_id
    AND s.span_id = l.span_id
LEFT JOIN
(
    SELECT tenant, run_id, generation, trace_id, span_id, record, any(body) AS body, any(attributes) AS attributes
    FROM canon_log_texts
    GROUP BY tenant, run_id, generation, trace_id, span_id, record
) AS t
    ON t.tenant = l.tenant
    AND t.run_id = l.run_id
    AND t.generation = l.generation
    AND t.trace_id = l.trace_id
    AND t.span_id = l.span_id
    AND t.record = toString(l.content_hash)
SETTINGS join_use_nulls = 0
