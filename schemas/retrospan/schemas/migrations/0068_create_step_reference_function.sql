-- title: the reference of a step
-- params: run_id String, step UInt32
-- returns: String, `step:run/number`
CREATE FUNCTION IF NOT EXISTS retrospan_step_reference AS (run_id, step) ->
    concat(retrospan_reference('step', run_id), '/', toString(step))
