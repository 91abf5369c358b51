-- title: note runs that were looked at
-- params: tenant String, run_ids Array(String)
-- returns: nothing
INSERT INTO seen_runs
SELECT
    {tenant:String} AS tenant,
    arrayJoin({run_ids:Array(String)}) AS run_id
