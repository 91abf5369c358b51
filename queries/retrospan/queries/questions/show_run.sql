-- title: One run
-- params: run_id String
-- returns: one row, the columns of the view runs
SELECT
    run_id,
    origin_run_id,
    parent_run_id,
    parent_link,
    conversation_id,
    run_kind,
    agent_name,
    agent_version,
    service_name,
    service_version,
    environment,
    started_at,
    ended_at,
    duration_ms,
    outcome,
    incomplete_because,
    input,
    output,
    steps,
    model_calls,
    tool_calls,
    errors,
    input_tokens,
    output_tokens,
    trace_ids,
    dialects,
    flagged,
    held,
    interpreted_by,
    problems
FROM runs
WHERE run_id = {run_id:String}
