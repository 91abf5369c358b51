-- title: The state that a step left
-- params: run_id String, step UInt32
-- returns: one row, or none: state (JSON object)
SELECT state_after AS state
FROM steps
WHERE run_id = {run_id:String}
    AND step = {step:UInt32}
    AND isNotNull(state_after)
