-- title: some runs, as a walk and a comparison need them
-- params: run_ids Array(String)
-- returns: tenant, run_id, generation, conversation_id, started_at, answer_ref, input (its first 500 characters), input_hash, outcome, agent_version, service_version, label
SELECT
    tenant,
    run_id,
    generation,
    conversation_id,
    toString(started_at) AS began_at,
    answer_ref,
    substringUTF8(input, 1, 500) AS words,
    input_hash,
    outcome,
    agent_version,
    service_version,
    concat('run of ', ifNull(agent_name, 'an unnamed agent'), ': ', substringUTF8(ifNull(input, ''), 1, 120)) AS label
FROM canon_runs FINAL
WHERE run_id IN {run_ids:Array(String)} AND NOT deleted
