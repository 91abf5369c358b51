-- title: Where two runs diverge, and why
-- params: a String, b String (run ids)
-- returns: one row: step_a, step_b, aspect, cause, value_a, value_b, identical, prefix, shown_cause
SELECT
    step_a,
    step_b,
    aspect,
    cause,
    value_a,
    value_b,
    identical,
    prefix,
    shown_cause
FROM run_divergence(a = {a:String}, b = {b:String})
