-- title: Which things a run says that it used
-- params: run_id String, rows UInt32
-- returns: one row per reference (entity, observation, document, …), and the first step that used it
SELECT
    object,
    min(step) AS first_step
FROM provenance_edges
WHERE run_id = {run_id:String}
    AND relation = 'used'
    AND evidence = 'stated'
GROUP BY object
ORDER BY
    first_step,
    object
LIMIT {rows:UInt32}
