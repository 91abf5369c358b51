-- title: The evaluations of a run
-- params: run_id String, first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), rows UInt32 (the greatest number)
-- returns: one row each, the columns of the view evaluations
SELECT
    run_id,
    step,
    span_id,
    name,
    score,
    label,
    explanation,
    judged,
    judge,
    at,
    response_id,
    error_type,
    trace_id
FROM evaluations
WHERE run_id = {run_id:String}
    AND ({first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32})
ORDER BY at, span_id, name
LIMIT {rows:UInt32}
