-- title: what produced some messages in some runs
-- params: run_ids Array(String), messages Array(String) (references)
-- returns: run_id, generation, subject, object, step, at
SELECT DISTINCT run_id, generation, subject, object, step, toString(at) AS moment
FROM canon_edges
WHERE
    run_id IN {run_ids:Array(String)}
    AND subject IN {messages:Array(String)}
    AND relation = 'wasGeneratedBy'
