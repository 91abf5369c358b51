-- title: Where a value stands first in what the models of a run were given and answered
-- params: run_id String, value String, most UInt32 (characters)
-- returns: at most one row per run: the message, the model call that read or said it first, and what is around the value
SELECT
    run_id,
    model_call,
    direction,
    position,
    role,
    message_hash,
    substringUTF8(content, greatest(1, positionUTF8(content, {value:String}) - 80), {most:UInt32}) AS around
FROM messages
WHERE run_id = {run_id:String}
    AND new_in_call
    AND position(content, {value:String}) > 0
ORDER BY
    model_call,
    direction,
    position
LIMIT 1
