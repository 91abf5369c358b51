-- title: the stored edges of some runs
-- params: run_ids Array(String), generations Array(UInt64), most UInt64 (rows)
-- returns: tenant, run_id, generation, subject, relation, object, role, evidence, step, at, place
SELECT DISTINCT tenant, run_id, generation, subject, relation, object, role, evidence, step, toString(at) AS moment, place
FROM canon_edges
WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
LIMIT {most:UInt64}
