-- title: What a run did to the world, as its calls state it, and what is to be undone
-- params: run_id String, rows UInt32
-- returns: one row per call that states an effect other than none and read, and how many there are
SELECT
    run_id,
    step,
    tool_call,
    tool_name,
    effect,
    effect_status,
    idempotency_key,
    times_executed,
    compensated_by,
    problems,
    span_id,
    has(problems, 'to_compensate') AS to_undo,
    count() OVER () AS total
FROM effects
WHERE run_id = {run_id:String}
    AND ifNull(effect NOT IN ('none', 'read'), 1)
ORDER BY
    to_undo DESC,
    at,
    span_id
LIMIT {rows:UInt32}
