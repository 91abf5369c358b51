-- title: The model calls of some steps of a run, their long texts cut
-- params: run_id String, first UInt32, last UInt32 (steps, both included), most UInt32 (characters; 0 = whole)
-- returns: one row per model call; output_length counts the characters of the whole output
-- A call that is not a step belongs to step 4294967295.
SELECT
    run_id,
    ordinal,
    step,
    span_id,
    agent_name,
    provider,
    request_model,
    response_model,
    parameters,
    if({most:UInt32} = 0, c.output_messages, substringUTF8(c.output_messages, 1, {most:UInt32})) AS output_messages,
    lengthUTF8(c.output_messages) AS output_length,
    finish_reasons,
    input_tokens,
    output_tokens,
    cached_tokens,
    reasoning_tokens,
    started_at,
    duration_ms,
    status,
    error_type,
    error_message
FROM model_calls AS c
WHERE run_id = {run_id:String}
    AND ifNull(step, 4294967295) BETWEEN {first:UInt32} AND {last:UInt32}
ORDER BY ordinal
