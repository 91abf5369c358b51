-- title: The tool calls of a run, each with its arguments and its whole result
-- params: run_id String
-- returns: one row per tool call; started_ns in Unix nanoseconds
SELECT
    ordinal,
    step,
    span_id,
    toUnixTimestamp64Nano(c.started_at) AS started_ns,
    duration_ms,
    agent_name,
    tool_name,
    tool_call_id,
    arguments,
    result,
    effect,
    idempotency_key,
    asked_by,
    status,
    error_type,
    error_message
FROM tool_calls AS c
WHERE run_id = {run_id:String}
ORDER BY ordinal
