-- title: Which things a run says that it used or observed
-- params: run_id String, rows UInt32
-- returns: one row per reference: what it did (used, wasDerivedFrom, observed), and the first step that did
SELECT
    relation,
    object,
    min(step) AS step
FROM
(
    SELECT CAST(relation, 'String') AS relation, object, step
    FROM provenance_edges
    WHERE run_id = {run_id:String} AND evidence = 'stated' AND relation IN ('used', 'wasDerivedFrom')
    UNION ALL
    SELECT 'observed' AS relation, concat('entity:', entity_type, '/', entity_id) AS object, step
    FROM observations
    WHERE run_id = {run_id:String}
)
GROUP BY
    relation,
    object
ORDER BY
    step,
    object
LIMIT {rows:UInt32}
