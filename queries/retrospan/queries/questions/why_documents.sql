-- title: Which documents hold what an argument of a call has
-- params: run_id String, step UInt32, role String (of the argument), rows UInt32
-- returns: one row per document that is known by its content, and place in it: object, role, place
SELECT
    object,
    role,
    place
FROM provenance_edges
WHERE run_id = {run_id:String}
    AND step = {step:UInt32}
    AND relation = 'used'
    AND evidence = 'inferred'
    AND startsWith(object, 'document:')
    AND isNotNull(place)
    AND (role = {role:String} OR startsWith(role, concat({role:String}, ', one of ')))
ORDER BY
    object,
    place
LIMIT {rows:UInt32}
