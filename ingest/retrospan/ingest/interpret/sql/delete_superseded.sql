-- title: remove the rows of superseded generations of some runs or traces from one canonical table
-- params: table Identifier, key Identifier (run_id or trace_id), names String (JSON: tenant and name of each run or trace),
--     generations String (JSON: the newest of each)
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE (tenant, {key:Identifier}) IN JSONExtract({names:String}, 'Array(Tuple(String, String))')
    AND generation < transform(
        concat(tenant, '\n', {key:Identifier}),
        arrayMap(
            named -> concat(named.1, '\n', named.2),
            JSONExtract({names:String}, 'Array(Tuple(String, String))')
        ),
        JSONExtract({generations:String}, 'Array(UInt64)'),
        toUInt64(0)
    )
