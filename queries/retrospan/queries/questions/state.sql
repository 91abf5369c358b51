-- title: What the agent knew as a step began
-- params: run_id String, step UInt32 (0 = after the last step)
-- returns: one row per key: key, value (JSON), changed_at_step, span_id
SELECT
    key,
    value,
    changed_at_step,
    span_id
FROM run_state(run_id = {run_id:String}, step = {step:UInt32})
ORDER BY key
