-- title: rows of runs that are stored and not made from their spans, and the other way round
-- params: database Identifier (the warehouse's), table Identifier, k0 UInt64, k1 UInt64
-- returns: run_id, hash String, stored Bool
WITH
    newest AS
    (
        SELECT
            tenant,
            run_id,
            max(generation) AS generation
        FROM {database:Identifier}.canon_runs
        WHERE (tenant, run_id) IN (SELECT tenant, run_id FROM canon_runs)
        GROUP BY tenant, run_id
    ),
    there AS
    (
        SELECT
            run_id,
            reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(* EXCEPT (generation)))) AS hash
        FROM {database:Identifier}.{table:Identifier}
        WHERE (tenant, run_id) IN (SELECT tenant, run_id FROM canon_runs)
            AND (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM newest)
    ),
    made AS
    (
        SELECT
            run_id,
            reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(* EXCEPT (generation)))) AS hash
        FROM {table:Identifier}
        WHERE (tenant, run_id) IN (SELECT tenant, run_id FROM canon_runs)
    )
SELECT
    run_id,
    toString(hash) AS hash,
    side
FROM
(
    SELECT
        run_id,
        hash,
        true AS side
    FROM there
    WHERE (run_id, hash) NOT IN (SELECT run_id, hash FROM made)
    UNION ALL
    SELECT
        run_id,
        hash,
        false AS side
    FROM made
    WHERE (run_id, hash) NOT IN (SELECT run_id, hash FROM there)
)
ORDER BY run_id, side, hash
