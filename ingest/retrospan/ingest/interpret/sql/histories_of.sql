-- title: what other runs' histories may lean on, of some runs
-- params: tenant String, run_ids Array(String)
-- returns: run_id, generation, final_history_hash
SELECT
    run_id,
    newest.1 AS generation,
    newest.2 AS final_history_hash
FROM
(
    SELECT
        run_id,
        argMax((canon_runs.generation, canon_runs.final_history_hash), canon_runs.generation) AS newest
    FROM canon_runs
    WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)}
    GROUP BY run_id
)
ORDER BY run_id
