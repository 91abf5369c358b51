-- title: The checkpoints of a run
-- params: run_id String, first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), rows UInt32 (the greatest number)
-- returns: one row each, the columns of the view checkpoints
SELECT
    run_id,
    step,
    span_id,
    checkpoint_id,
    parent_id,
    trigger,
    at,
    conversation_id,
    trace_id
FROM checkpoints
WHERE run_id = {run_id:String}
    AND ({first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32})
ORDER BY at, span_id
LIMIT {rows:UInt32}
