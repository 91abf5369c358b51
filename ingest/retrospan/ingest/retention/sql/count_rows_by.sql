-- title: the rows of one canonical table by the run or trace they are of
-- params: table Identifier, key Identifier (run_id or trace_id), tenant String, names Array(String)
-- returns: name String, number UInt64
SELECT
    {key:Identifier} AS name,
    count() AS number
FROM {table:Identifier}
WHERE tenant = {tenant:String} AND {key:Identifier} IN {names:Array(String)}
GROUP BY name
ORDER BY name
