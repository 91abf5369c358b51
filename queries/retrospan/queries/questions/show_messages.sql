-- title: What a model call was given and what it answered
-- params: run_id String, model_call UInt32 (ordinal)
-- returns: one row per message: direction, position, role, content (JSON), new_in_call
SELECT
    direction,
    position,
    role,
    content,
    new_in_call
FROM messages
WHERE run_id = {run_id:String}
    AND model_call = {model_call:UInt32}
ORDER BY
    direction,
    position
