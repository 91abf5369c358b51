-- title: delete what arrived of some traces up to a time of each and still has its payload, from raw_spans or raw_logs
-- params: table Identifier, tenant String, trace_ids Array(String), arrivals Array(Int64) (Unix ns, one for each), mark String (value of retrospan.redacted on what is bare)
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE tenant = {tenant:String}
    AND trace_id IN {trace_ids:Array(String)}
    AND toUnixTimestamp64Nano(arrived_at) <= transform(trace_id, {trace_ids:Array(String)}, {arrivals:Array(Int64)}, toInt64(0))
    AND NOT arrayExists(a -> tupleElement(a, 1) = 'retrospan.redacted' AND tupleElement(a, 3) = {mark:String}, attributes)
