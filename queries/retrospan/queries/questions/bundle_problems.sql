-- title: What of a run could not be read as meant, by span
-- params: run_id String, rows UInt32 (the greatest number)
-- returns: one row each: span_id, field, reason
SELECT
    span_id,
    field,
    reason
FROM interpretation_problems
WHERE run_id = {run_id:String}
ORDER BY span_id, field, reason
LIMIT {rows:UInt32}
