-- title: What a run's records leave in the dark
-- params: run_id String
-- returns: one row per run: each layer of the view missing_layers
SELECT
    task_position,
    tool_outputs,
    decisions,
    retry_context,
    failure_context
FROM missing_layers
WHERE run_id = {run_id:String}
