-- title: The states around the steps of a run, where the agent or its framework states them
-- params: run_id String
-- returns: one row per step with a state before or after it
SELECT
    step,
    state_source,
    state_before,
    state_after
FROM steps
WHERE run_id = {run_id:String}
    AND state_source IN ('explicit', 'framework')
ORDER BY step
