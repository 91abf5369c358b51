-- title: the spans of traces by their start, without what they carry
-- params: traces Array(String); most UInt64, of a trace; most_of_all UInt64
-- returns: trace_id, span_id, spans (how many the trace has); in the order of `traces`
SELECT
    trace_id,
    span_id,
    count() OVER (PARTITION BY trace_id) AS spans
FROM
(
    SELECT
        trace_id,
        span_id,
        argMax(started_ns, (sequence, content_hash)) AS began
    FROM raw_spans
    WHERE trace_id IN {traces:Array(String)}
    GROUP BY trace_id, span_id
)
ORDER BY indexOf({traces:Array(String)}, trace_id), began, span_id
LIMIT {most:UInt64} BY trace_id
LIMIT {most_of_all:UInt64}
