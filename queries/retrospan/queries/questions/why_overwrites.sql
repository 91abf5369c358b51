-- title: What a run overwrote of other runs, and what others overwrote of it
-- params: run_id String, rows UInt32
-- returns: one row per change of a field from a value of one run to that of another
SELECT
    run_id,
    entity_type,
    entity_id,
    field,
    step,
    old_value,
    new_value,
    at,
    was_read,
    old_run_id,
    old_step,
    observation_id
FROM overwrites
WHERE run_id = {run_id:String}
ORDER BY
    was_read,
    at,
    entity_type,
    entity_id,
    field
LIMIT {rows:UInt32}
