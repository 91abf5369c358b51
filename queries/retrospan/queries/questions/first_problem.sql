-- title: What is most often wrong with the reading of a run
-- params: run_id String
-- returns: at most one row: reason, field, times that it occurs
SELECT
    reason,
    field,
    count() AS times
FROM interpretation_problems
WHERE run_id = {run_id:String}
GROUP BY
    reason,
    field
ORDER BY
    times DESC,
    reason,
    field
LIMIT 1
