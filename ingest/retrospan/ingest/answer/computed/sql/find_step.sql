-- title: whether a step is there
-- params: run_id String, step UInt32
-- returns: run_id
SELECT DISTINCT run_id
FROM canon_steps
WHERE run_id = {run_id:String} AND step = {step:UInt32}
