-- title: the steps that a span is
-- params: trace_id String, span_id String
-- returns: run_id, reference
SELECT DISTINCT s.run_id AS run_id, retrospan_step_reference(s.run_id, s.step) AS reference
FROM canon_steps AS s
WHERE
    s.run_id IN
    (
        SELECT run_id
        FROM canon_spans
        WHERE trace_id = {trace_id:String} AND span_id = {span_id:String}
    )
    AND s.trace_id = {trace_id:String}
    AND s.span_id = {span_id:String}
    AND (s.tenant, s.run_id, s.generation) IN
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE
            run_id IN
            (
                SELECT run_id
                FROM canon_spans
                WHERE trace_id = {trace_id:String} AND span_id = {span_id:String}
            )
            AND NOT deleted
    )
