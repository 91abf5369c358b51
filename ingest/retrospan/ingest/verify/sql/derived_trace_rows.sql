-- title: rows of canon_traces by their hash, what they were read up to left out
-- params: database Identifier, table Identifier, key Identifier (run_id or trace_id), names Array(String), k0 UInt64, k1 UInt64, hashes Array(String)
-- returns: every column of the table
SELECT *
FROM {database:Identifier}.{table:Identifier}
WHERE {key:Identifier} IN {names:Array(String)}
    AND has({hashes:Array(String)}, toString(reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(* EXCEPT (generation, through, through_sequence))))))
