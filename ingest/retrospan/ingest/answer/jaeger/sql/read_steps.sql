-- title: which steps of their runs spans are
-- params: runs Array(String), spans Array(String)
-- returns: trace_id, span_id, step
SELECT
    s.trace_id AS trace_id,
    s.span_id AS span_id,
    s.step AS step
FROM canon_steps AS s
INNER JOIN
(
    SELECT tenant, run_id, generation
    FROM canon_runs FINAL
    WHERE run_id IN {runs:Array(String)} AND NOT deleted
) AS p USING (tenant, run_id, generation)
WHERE s.run_id IN {runs:Array(String)} AND s.span_id IN {spans:Array(String)}
