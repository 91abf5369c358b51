-- title: The model calls of a run, their long texts cut
-- params: run_id String, step UInt32 (0 = all), most UInt32 (characters of a long text; 0 = whole)
-- returns: one row per model call; output_length counts the characters of the whole output
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
    AND ({step:UInt32} = 0 OR step = {step:UInt32})
ORDER BY ordinal
