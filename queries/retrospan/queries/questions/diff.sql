-- title: Two runs, step by step
-- params: a String, b String (run ids)
-- returns: one row per position and aspect ('' = nothing differs), the columns of the view run_diff
SELECT
    position,
    step_a,
    step_b,
    change,
    aspect,
    value_a,
    value_b,
    step_kind,
    name,
    detail,
    known
FROM run_diff(a = {a:String}, b = {b:String})
ORDER BY
    position,
    aspect
