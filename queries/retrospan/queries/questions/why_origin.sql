-- title: Where a value stands first in what the models of a run were given and answered
-- params: run_id String, value String (as JSON has it), expression String (a regular expression that finds it as a word)
-- returns: at most one row per run: the message, and the model call that read or said it first
SELECT
    run_id,
    model_call,
    direction,
    position,
    role,
    message_hash
FROM messages
WHERE run_id = {run_id:String}
    AND new_in_call
    AND position(content, {value:String}) > 0
    AND match(content, {expression:String})
ORDER BY
    model_call,
    direction,
    position
LIMIT 1
