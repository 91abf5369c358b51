-- title: what interpretation made of spans
-- params: traces Array(String), spans Array(String)
-- returns: trace_id, span_id, run_id, operation
SELECT
    s.trace_id AS trace_id,
    s.span_id AS span_id,
    s.run_id AS run_id,
    toString(s.operation) AS operation
FROM canon_spans AS s
INNER JOIN
(
    SELECT tenant, trace_id, generation
    FROM canon_traces FINAL
    WHERE trace_id IN {traces:Array(String)}
) AS p USING (tenant, trace_id, generation)
WHERE s.trace_id IN {traces:Array(String)} AND s.span_id IN {spans:Array(String)}
