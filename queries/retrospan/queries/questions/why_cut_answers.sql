-- title: The model calls of a run that ended for one of some reasons
-- params: run_id String, expression String (what a reason matches), rows UInt32
-- returns: one row per model call: run_id, ordinal, step, reason (as it was sent), output_tokens
SELECT
    run_id,
    ordinal,
    step,
    arrayFirst(each -> match(each, {expression:String}), finish_reasons) AS reason,
    output_tokens
FROM model_calls
WHERE run_id = {run_id:String}
    AND arrayExists(each -> match(each, {expression:String}), finish_reasons)
ORDER BY ordinal
LIMIT {rows:UInt32}
