-- title: rows of a table by the record they come from and their hash
-- params: database Identifier, table Identifier, k0 UInt64, k1 UInt64, sequences Array(UInt64), hashes Array(String)
-- returns: every column of the table
SELECT *
FROM {database:Identifier}.{table:Identifier}
WHERE sequence IN {sequences:Array(UInt64)}
    AND has({hashes:Array(String)}, toString(reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(*)))))
ORDER BY sequence
