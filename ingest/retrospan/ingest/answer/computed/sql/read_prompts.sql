-- title: what the model calls of two runs were given, as numbers of values, and by which agent
-- params: run_ids Array(String), generations Array(UInt64), most UInt64 (numbers in all)
-- returns: run_id, generation, step, agent_name, input_values; step NULL in a row that says that there are more
SELECT
    run_id,
    generation,
    if(numbers > {most:UInt64}, NULL, step) AS step,
    agent,
    if(numbers > {most:UInt64}, [], input_values) AS input_values
FROM
(
    SELECT
        run_id,
        generation,
        canon_model_calls.step AS step,
        ifNull(agent_name, '') AS agent,
        canon_model_calls.input_values AS input_values,
        sum(length(canon_model_calls.input_values)) OVER (ORDER BY run_id, ordinal) AS numbers
    FROM canon_model_calls
    WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
)
