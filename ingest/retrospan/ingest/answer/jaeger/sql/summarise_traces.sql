-- title: traces in numbers
-- params: traces Array(String)
-- returns: trace_id, spans, errors, orphans (their parent was not sent), first_ns and last_ns of its times,
--     root_service and root_name of the first span without a parent, spans_of and errors_of (services and counts);
--     in the order of `traces`
SELECT
    trace_id,
    count() AS spans,
    countIf(code = 2) AS errors,
    countIf(
        parent != ''
        AND (trace_id, parent) NOT IN
        (
            SELECT trace_id, span_id
            FROM raw_spans
            WHERE trace_id IN {traces:Array(String)}
        )
    ) AS orphans,
    min(began) AS first_ns,
    greatest(max(began), max(ended)) AS last_ns,
    argMinIf(service, (began, span_id), parent = '') AS root_service,
    argMinIf(called, (began, span_id), parent = '') AS root_name,
    sumMap([service], [1]) AS spans_of,
    sumMap([service], [toUInt8(code = 2)]) AS errors_of
FROM
(
    SELECT
        trace_id,
        span_id,
        argMax(parent_span_id, (sequence, content_hash)) AS parent,
        argMax(started_ns, (sequence, content_hash)) AS began,
        argMax(ended_ns, (sequence, content_hash)) AS ended,
        argMax(status_code, (sequence, content_hash)) AS code,
        toString(argMax(service_name, (sequence, content_hash))) AS service,
        toString(argMax(name, (sequence, content_hash))) AS called
    FROM raw_spans
    WHERE trace_id IN {traces:Array(String)}
    GROUP BY trace_id, span_id
)
GROUP BY trace_id
ORDER BY indexOf({traces:Array(String)}, trace_id)
