-- title: note the hashes of all rows of a table that come from records of a log
-- params: database Identifier, table Identifier, source String, k0 UInt64, k1 UInt64, first UInt64, last UInt64 (sequences)
-- returns: nothing
INSERT INTO stored
SELECT
    {source:String} AS source,
    sequence,
    reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(*))) AS hash
FROM {database:Identifier}.{table:Identifier}
WHERE sequence BETWEEN {first:UInt64} AND {last:UInt64}
