-- title: The tool calls of a run that did not succeed, and some others: by their number, or by how their result begins
-- params: run_id String, ordinals Array(UInt32), beginning String (an expression), most UInt32 (characters of a text; 0 = whole), rows UInt32
-- returns: one row per tool call, its texts cut; …_length counts the characters of the whole text
SELECT
    run_id,
    ordinal,
    step,
    asked_by,
    agent_name,
    tool_name,
    if({most:UInt32} = 0, c.arguments, substringUTF8(c.arguments, 1, {most:UInt32})) AS arguments,
    lengthUTF8(c.arguments) AS arguments_length,
    if({most:UInt32} = 0, c.result, substringUTF8(c.result, 1, {most:UInt32})) AS result,
    lengthUTF8(c.result) AS result_length,
    effect,
    idempotency_key,
    status,
    error_type,
    if({most:UInt32} = 0, c.error_message, substringUTF8(c.error_message, 1, {most:UInt32})) AS error_message,
    lengthUTF8(c.error_message) AS message_length
FROM tool_calls AS c
WHERE run_id = {run_id:String}
    AND (
        status != 'ok'
        OR has({ordinals:Array(UInt32)}, ordinal)
        OR match(ifNull(substring(c.result, 1, 100), ''), {beginning:String})
    )
-- What was only found by its beginning comes last: where there are too many rows, that is left out.
ORDER BY
    status = 'ok' AND NOT has({ordinals:Array(UInt32)}, ordinal),
    ordinal
LIMIT {rows:UInt32}
