-- title: delete the spans of some traces that arrived up to a time of each and still have their payload
-- params: table Identifier, tenant String, trace_ids Array(String), arrivals Array(Int64) (Unix ns, one for each), kept Array(String) (keys), mark String (value of retrospan.redacted on what is bare)
-- returns: nothing
DELETE FROM {table:Identifier}
WHERE tenant = {tenant:String}
    AND trace_id IN {trace_ids:Array(String)}
    AND toUnixTimestamp64Nano(arrived_at) <= transform(trace_id, {trace_ids:Array(String)}, {arrivals:Array(Int64)}, toInt64(0))
    AND NOT (
        retrospan_has_only_kept(attributes, {kept:Array(String)}, {mark:String})
        AND status_message = ''
        AND arrayAll(e -> arrayAll(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(e, 3)), events)
        AND arrayAll(l -> arrayAll(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(l, 5)), links)
    )
