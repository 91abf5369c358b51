-- title: Where a run stood when it stopped: the last step that ended, and those that had begun
-- params: run_id String
-- returns: one row per step; state is JSON: after the one that ended, before those that had begun
SELECT
    step,
    step_kind,
    name,
    status,
    started_at,
    ended_at,
    task_step,
    task_steps_total,
    if(status = 'incomplete', state_before, state_after) AS state
FROM steps
WHERE run_id = {run_id:String}
    AND (status = 'incomplete' OR step = (
        SELECT max(step)
        FROM steps
        WHERE run_id = {run_id:String} AND status != 'incomplete'
    ))
ORDER BY step
