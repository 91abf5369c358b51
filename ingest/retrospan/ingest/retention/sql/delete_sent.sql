-- title: delete what arrived of some traces up to a time of each, from a table of what was sent
-- params: table Identifier, tenant String, trace_ids Array(String), arrivals Array(Int64) (Unix ns, one for each)
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE tenant = {tenant:String}
    AND trace_id IN {trace_ids:Array(String)}
    AND toUnixTimestamp64Nano(arrived_at) <= transform(trace_id, {trace_ids:Array(String)}, {arrivals:Array(Int64)}, toInt64(0))
