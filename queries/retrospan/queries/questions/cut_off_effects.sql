-- title: Effects of a run of which it is not known whether they happened, or which would have to be undone
-- params: run_id String
-- returns: one row per effect: step, tool_name, idempotency_key, effect, effect_status, to_undo, at; the last first
SELECT
    step,
    tool_name,
    idempotency_key,
    effect,
    effect_status,
    has(problems, 'to_compensate') AS to_undo,
    at
FROM effects
WHERE run_id = {run_id:String}
    AND (has(problems, 'to_compensate') OR (effect_status = 'unknown' AND ifNull(effect NOT IN ('none', 'read'), 1)))
ORDER BY
    at DESC,
    step DESC
