-- title: The run that arrived last
-- params: none
-- returns: at most one row: run_id
-- note: arrival is not a column of the view runs, so this reads the table below it
SELECT run_id
FROM canon_runs FINAL
WHERE NOT deleted
ORDER BY
    arrived_at DESC,
    started_at DESC,
    run_id
LIMIT 1
