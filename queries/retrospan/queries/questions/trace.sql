-- title: Where a thing came from (up), or what came from it (down)
-- params: ref String (a reference), depth UInt32, direction String (up, down)
-- returns: one row per edge: depth, subject, relation, object, evidence, run_id, step, at, label, truncated, role, place
SELECT
    depth,
    subject,
    relation,
    object,
    evidence,
    run_id,
    step,
    at,
    label,
    truncated,
    role,
    place
FROM provenance(ref = {ref:String}, depth = {depth:UInt32}, direction = {direction:String})
ORDER BY
    depth,
    subject,
    relation,
    object
