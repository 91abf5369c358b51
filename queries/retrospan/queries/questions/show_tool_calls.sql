-- title: The tool calls of some steps of a run, and those that some model calls asked for, their long texts cut
-- params: run_id String, first UInt32, last UInt32, first_call UInt32, last_call UInt32, most UInt32 (characters; 0 = whole)
-- returns: one row per tool call; …_length counts the characters of the whole text
-- Steps from `first` to `last`; of calls that are not steps those that the model calls from `first_call` to `last_call`
-- asked for, where an unknown one is 4294967295.
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
    AND (
        step BETWEEN {first:UInt32} AND {last:UInt32}
        OR step IS NULL AND ifNull(asked_by, 4294967295) BETWEEN {first_call:UInt32} AND {last_call:UInt32}
    )
ORDER BY ordinal
