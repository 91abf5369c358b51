-- title: remove the rows of superseded generations of some runs from one canonical table
-- params: table Identifier, tenant String, run_ids Array(String), generations Array(UInt64) (the newest of each run)
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE tenant = {tenant:String}
    AND run_id IN {run_ids:Array(String)}
    AND generation < transform(run_id, {run_ids:Array(String)}, {generations:Array(UInt64)}, toUInt64(0))
