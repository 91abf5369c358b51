-- title: the model calls of two runs, as they are compared
-- params: run_ids Array(String), generations Array(UInt64), most UInt64 (rows)
-- returns: run_id, generation, ordinal, provider, request_model, parameters, parameters_hash, system_hash, tools_hash, input_hash, output_hash, system_value, tools_value, output_values, error_type, error_message, agent_name
SELECT
    run_id,
    generation,
    ordinal,
    provider,
    request_model,
    parameters,
    parameters_hash,
    system_hash,
    tools_hash,
    input_hash,
    output_hash,
    system_value,
    tools_value,
    output_values,
    error_type,
    error_message,
    ifNull(agent_name, '') AS agent
FROM canon_model_calls
WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
LIMIT {most:UInt64}
