-- title: What fills the prompt of a model call
-- params: run_id String, model_call UInt32 (ordinal), rows UInt32
-- returns: one row per message, the longest first: its place, role and length, and the length of all of them, in characters
SELECT
    run_id,
    model_call,
    direction,
    position,
    role,
    first_call,
    lengthUTF8(content) AS length,
    sum(length) OVER () AS total
FROM messages
WHERE run_id = {run_id:String}
    AND model_call = {model_call:UInt32}
    AND direction = 'input'
ORDER BY
    length DESC,
    position
LIMIT {rows:UInt32}
