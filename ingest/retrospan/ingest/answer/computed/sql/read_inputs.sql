-- title: what the model calls of some runs were given, as numbers of values
-- params: run_ids Array(String), generations Array(UInt64), most UInt64 (numbers in all)
-- returns: tenant, run_id, generation, step, started_at, input_values; step NULL in a row that says that there are more
SELECT
    tenant,
    run_id,
    generation,
    if(numbers > {most:UInt64}, NULL, step) AS step,
    toString(started_at) AS began_at,
    if(numbers > {most:UInt64}, [], input_values) AS input_values
FROM
(
    SELECT
        tenant,
        run_id,
        generation,
        canon_model_calls.step AS step,
        started_at,
        canon_model_calls.input_values AS input_values,
        sum(length(canon_model_calls.input_values)) OVER (ORDER BY run_id, ordinal) AS numbers
    FROM canon_model_calls
    WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
)
