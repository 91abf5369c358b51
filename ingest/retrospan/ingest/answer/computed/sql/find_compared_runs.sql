-- title: two runs as wholes, as they are compared
-- params: run_ids Array(String)
-- returns: tenant, run_id, generation, input (its first 500 characters), input_hash (without ids in texts), outcome, agent_version, service_version, parent_run_id, parent_link, fork_step, patch (its first 500 characters)
SELECT
    tenant,
    run_id,
    generation,
    substringUTF8(input, 1, 500) AS words,
    retrospan_key_of_known(canon_runs.input, canon_runs.input_hash) AS input_key,
    outcome,
    agent_version,
    service_version,
    ifNull(parent_run_id, '') AS parent,
    toString(ifNull(parent_link, '')) AS link,
    toUInt32(least(ifNull(canon_runs.fork_step, 0), 4294967295)) AS forked_step,
    substringUTF8(canon_runs.patch, 1, 500) AS short_patch
FROM canon_runs FINAL
WHERE run_id IN {run_ids:Array(String)} AND NOT deleted
