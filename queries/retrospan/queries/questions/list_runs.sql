-- title: Runs, newest first
-- params: since DateTime64(9, 'UTC'), outcome String ('' = any), agent String ('' = any), chosen UInt8 (1: only those of run_ids), run_ids Array(String), most UInt32
-- returns: one row per run, the columns of the view runs
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
    problems,
    ended_by,
    last_said_at,
    fork_step,
    patch,
    user_id,
    aliases,
    joined_by,
    cost,
    currency,
    cost_unknown
FROM runs
WHERE started_at >= {since:DateTime64(9, 'UTC')}
    AND ({outcome:String} = '' OR outcome = {outcome:String})
    AND ({agent:String} = '' OR agent_name = {agent:String})
    AND ({chosen:UInt8} = 0 OR run_id IN {run_ids:Array(String)})
ORDER BY
    started_at DESC,
    run_id
LIMIT {most:UInt32}
