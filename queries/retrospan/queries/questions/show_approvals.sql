-- title: The approvals of a run
-- params: run_id String, first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), rows UInt32 (the greatest number)
-- returns: one row each, the columns of the view approvals
SELECT
    run_id,
    step,
    span_id,
    decision,
    approver,
    explanation,
    at,
    agent_name,
    trace_id,
    tool_name
FROM approvals
WHERE run_id = {run_id:String}
    AND ({first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32})
ORDER BY at, span_id
LIMIT {rows:UInt32}
