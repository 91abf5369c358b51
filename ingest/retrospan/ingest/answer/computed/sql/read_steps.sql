-- title: the steps of two runs, as they are compared
-- params: run_ids Array(String), generations Array(UInt64), most UInt64 (rows)
-- returns: run_id, generation, step, step_kind, name, agent_name, status, model_call, tool_call, state_hash, state_keys, state_values; a state of messages is the prompt again and left out
SELECT
    run_id,
    generation,
    step,
    step_kind,
    name,
    agent_name,
    status,
    model_call,
    tool_call,
    if(ifNull(state_source, 'messages') = 'messages', NULL, state_before_hash) AS state_hash,
    if(isNull(state_hash), [], before_keys) AS state_keys,
    if(isNull(state_hash), [], before_values) AS state_values
FROM canon_steps
WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
ORDER BY run_id, step
LIMIT {most:UInt64}
