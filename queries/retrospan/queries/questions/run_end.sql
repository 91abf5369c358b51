-- title: Whether the end of a run is on record
-- params: run_id String
-- returns: at most one row: incomplete_because is not_ended where it is not
SELECT incomplete_because
FROM runs
WHERE run_id = {run_id:String}
