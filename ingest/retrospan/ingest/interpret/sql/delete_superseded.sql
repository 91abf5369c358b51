-- title: remove the rows of superseded generations of some runs or traces from one canonical table
-- params: table Identifier, key Identifier (run_id or trace_id), tenants Array(String), names Array(String) (of runs or
--     traces, one for each tenant), generations Array(UInt64) (the newest of each)
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE (tenant, {key:Identifier}) IN arrayZip({tenants:Array(String)}, {names:Array(String)})
    AND generation < transform(
        concat(tenant, '\n', {key:Identifier}),
        arrayMap(
            (of_tenant, of_name) -> concat(of_tenant, '\n', of_name),
            {tenants:Array(String)},
            {names:Array(String)}
        ),
        {generations:Array(UInt64)},
        toUInt64(0)
    )
