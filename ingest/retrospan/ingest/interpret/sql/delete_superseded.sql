-- title: remove the rows of superseded generations of some runs from one canonical table
-- params: table Identifier, tenants Array(String), run_ids Array(String) (one for each tenant), generations Array(UInt64)
--     (the newest of each run)
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE (tenant, run_id) IN arrayZip({tenants:Array(String)}, {run_ids:Array(String)})
    AND generation < transform(
        concat(tenant, '\n', run_id),
        arrayMap(
            (of_tenant, of_run) -> concat(of_tenant, '\n', of_run),
            {tenants:Array(String)},
            {run_ids:Array(String)}
        ),
        {generations:Array(UInt64)},
        toUInt64(0)
    )
