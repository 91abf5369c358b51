-- title: what other runs' histories may lean on, of some runs
-- params: tenant String, run_ids Array(String)
-- returns: run_id, generation, final_history_hash
SELECT
    run_id,
    generation,
    final_history_hash
FROM canon_runs
FINAL
WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)}
ORDER BY run_id
