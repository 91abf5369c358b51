-- title: the runs that hold a message
-- params: hash String
-- returns: run_id
SELECT DISTINCT run_id
FROM canon_values
WHERE
    hash = {hash:String}
    AND kind = 'message'
    AND (tenant, run_id, generation) IN
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE run_id IN (SELECT run_id FROM canon_values WHERE hash = {hash:String}) AND NOT deleted
    )
