-- title: note the hashes of stored rows of the traces that some records hold, and of others
-- params: database Identifier, table Identifier, sent Identifier (the table made from the log), source String, k0 UInt64, k1 UInt64, first UInt64, last UInt64 (sequences), tenant String, trace_ids Array(String) (of the others)
-- returns: nothing
INSERT INTO stored
SELECT
    {source:String} AS source,
    sequence,
    reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(*))) AS hash
FROM {database:Identifier}.{table:Identifier}
WHERE sequence BETWEEN {first:UInt64} AND {last:UInt64}
    AND (
        (tenant, trace_id) IN (SELECT tenant, trace_id FROM {sent:Identifier})
        OR (tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)})
    )
