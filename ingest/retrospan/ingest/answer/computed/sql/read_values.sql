-- title: the values of some runs, without their texts
-- params: run_ids Array(String), generations Array(UInt64), most UInt64 (rows)
-- returns: tenant, run_id, generation, number, kind, hash, role, the first elements, how many elements there are
SELECT
    tenant,
    run_id,
    generation,
    number,
    kind,
    hash,
    role,
    arraySlice(elements, 1, 20) AS first_elements,
    length(elements) AS count_of_elements
FROM canon_values
WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
LIMIT {most:UInt64}
