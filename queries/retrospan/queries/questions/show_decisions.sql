-- title: The decisions of a run
-- params: run_id String, first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), rows UInt32 (the greatest number)
-- returns: one row each, the columns of the view decisions
SELECT
    run_id,
    step,
    span_id,
    name,
    options,
    chosen,
    rationale,
    confidence,
    at,
    agent_name,
    trace_id
FROM decisions
WHERE run_id = {run_id:String}
    AND ({first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32})
ORDER BY at, span_id
LIMIT {rows:UInt32}
