-- title: The tool calls of a run, their long texts cut
-- params: run_id String, step UInt32 (0 = all, also those that are no step), most UInt32 (characters; 0 = whole)
-- returns: one row per tool call; …_length counts the characters of the whole text
SELECT
    run_id,
    ordinal,
    step,
    span_id,
    asked_by,
    agent_name,
    tool_name,
    tool_call_id,
    if({most:UInt32} = 0, c.arguments, substringUTF8(c.arguments, 1, {most:UInt32})) AS arguments,
    lengthUTF8(c.arguments) AS arguments_length,
    if({most:UInt32} = 0, c.result, substringUTF8(c.result, 1, {most:UInt32})) AS result,
    lengthUTF8(c.result) AS result_length,
    result_source,
    effect,
    attempt,
    started_at,
    duration_ms,
    status,
    error_type,
    error_message
FROM tool_calls AS c
WHERE run_id = {run_id:String}
    AND ({step:UInt32} = 0 OR step = {step:UInt32})
ORDER BY ordinal
