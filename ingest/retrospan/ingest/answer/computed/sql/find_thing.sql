-- title: whether a run names a thing
-- params: reference String
-- returns: one row if so
SELECT 1
FROM canon_crossings
WHERE
    reference = {reference:String}
    AND (tenant, run_id, generation) IN
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE run_id IN (SELECT run_id FROM canon_crossings WHERE reference = {reference:String}) AND NOT deleted
    )
LIMIT 1
