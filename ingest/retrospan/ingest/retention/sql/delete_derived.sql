-- title: delete what was derived of some runs or traces before a generation, from a canonical table
-- params: table Identifier, key Identifier (run_id or trace_id), tenant String, names Array(String), generation UInt64
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE tenant = {tenant:String} AND {key:Identifier} IN {names:Array(String)} AND generation < {generation:UInt64}
