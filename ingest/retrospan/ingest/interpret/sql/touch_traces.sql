-- title: have traces read by the interpreters of some runs
-- params: tenant String, trace_ids Array(String), homes Array(String) (a run for each), sequence UInt64
-- returns: nothing
INSERT INTO arrivals (tenant, trace_id, sequence, arrived_at, home)
SELECT
    {tenant:String},
    touched.1,
    {sequence:UInt64},
    now64(9, 'UTC'),
    touched.2
FROM
(
    SELECT arrayJoin(arrayZip({trace_ids:Array(String)}, {homes:Array(String)})) AS touched
)
