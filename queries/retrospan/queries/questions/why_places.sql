-- title: Which steps some model calls of a run are
-- params: run_id String, ordinals Array(UInt32)
-- returns: one row per model call: ordinal, step
SELECT
    ordinal,
    step
FROM model_calls
WHERE run_id = {run_id:String}
    AND has({ordinals:Array(UInt32)}, ordinal)
ORDER BY ordinal
