-- title: Some model calls of a run, each with everything that it was asked and answered
-- params: run_id String, first UInt32, last UInt32 (ordinals, both included)
-- returns: one row per model call; started_ns in Unix nanoseconds
SELECT
    ordinal,
    step,
    span_id,
    toUnixTimestamp64Nano(c.started_at) AS started_ns,
    duration_ms,
    agent_name,
    provider,
    request_model,
    response_model,
    parameters,
    system_instructions,
    input_messages,
    output_messages,
    tool_definitions,
    finish_reasons,
    input_tokens,
    output_tokens,
    cached_tokens,
    cache_write_tokens,
    reasoning_tokens,
    time_to_first_chunk_ms,
    status,
    error_type,
    error_message
FROM model_calls AS c
WHERE run_id = {run_id:String}
    AND ordinal BETWEEN {first:UInt32} AND {last:UInt32}
ORDER BY ordinal
