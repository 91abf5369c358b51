-- title: Steps of a run, without their states
-- params: run_id String, first UInt32, last UInt32 (steps, both included)
-- returns: one row per step
SELECT
    run_id,
    step,
    step_kind,
    name,
    span_id,
    node,
    framework_step,
    task_step,
    task_step_name,
    task_steps_total,
    agent_name,
    started_at,
    duration_ms,
    status,
    attempt,
    state_source,
    state_before_hash,
    state_after_hash,
    state_schema
FROM steps
WHERE run_id = {run_id:String}
    AND step BETWEEN {first:UInt32} AND {last:UInt32}
ORDER BY step
