-- title: What a run read that was out of date, or was overwritten later
-- params: run_id String, rows UInt32
-- returns: one row per read and field: the value, the one that replaced it, by whom, and whether it already held
SELECT
    run_id,
    entity_type,
    entity_id,
    field,
    step,
    read_at,
    value,
    new_value,
    overwritten_at,
    overwritten_run_id,
    overwritten_step,
    overwritten_agent_name,
    stale_when_read,
    span_id
FROM stale_reads
WHERE run_id = {run_id:String}
ORDER BY
    stale_when_read DESC,
    read_at,
    entity_type,
    entity_id,
    field
LIMIT {rows:UInt32}
