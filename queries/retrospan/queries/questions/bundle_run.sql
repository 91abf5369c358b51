-- title: What a bundle says of a run
-- params: run_id String
-- returns: one row per run of this id, which is one; times are Unix nanoseconds
SELECT
    run_id,
    service_name,
    service_version,
    agent_name,
    agent_version,
    conversation_id,
    run_kind,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    toUnixTimestamp64Nano(ended_at) AS ended_ns,
    outcome,
    incomplete_because,
    parent_run_id,
    parent_link,
    fork_step,
    patch,
    input,
    output,
    dialects,
    trace_ids,
    model_calls,
    tool_calls,
    interpreted_by
FROM runs
WHERE run_id = {run_id:String}
