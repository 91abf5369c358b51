-- title: One run that nothing said since can change: it is closed, and nobody set or took a flag or a hold
-- params: run_id String
-- returns: one row per settled run, the columns of show_run; none for any other run: of that the question show_run tells
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
    CAST(canon_runs.dialects, 'Array(String)') AS dialects,
    CAST(canon_runs.flagged, 'Bool') AS flagged,
    CAST(0, 'Bool') AS held,
    interpreted_by,
    problems,
    CAST(NULL, 'Nullable(String)') AS ended_by,
    last_said_at,
    fork_step,
    patch,
    user_id,
    aliases,
    CAST(joined_by, 'Array(String)') AS joined_by
FROM canon_runs FINAL
WHERE run_id = {run_id:String}
    AND NOT deleted
    AND NOT is_open
    AND outcome != 'incomplete'
    AND NOT arrayExists(
        id -> (tenant, id) IN (SELECT tenant, run_id FROM run_marks),
        arrayPushFront(canon_runs.aliases, run_id)
    )
