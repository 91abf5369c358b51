-- title: what is known of spans and stored otherwise than it is made from them
-- params: database Identifier (the warehouse's), k0 UInt64, k1 UInt64
-- returns: trace_id, hash String, stored Bool
WITH
    there AS
    (
        SELECT
            trace_id,
            reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(* EXCEPT (generation)))) AS hash
        FROM {database:Identifier}.canon_spans
        WHERE (tenant, trace_id) IN (SELECT tenant, trace_id FROM canon_traces)
            AND (tenant, trace_id, generation) IN
            (
                SELECT tenant, trace_id, max(generation)
                FROM {database:Identifier}.canon_traces
                WHERE (tenant, trace_id) IN (SELECT tenant, trace_id FROM canon_traces)
                GROUP BY tenant, trace_id
            )
    ),
    made AS
    (
        SELECT
            trace_id,
            reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(* EXCEPT (generation)))) AS hash
        FROM canon_spans
    )
SELECT
    trace_id,
    toString(hash) AS hash,
    side
FROM
(
    SELECT
        trace_id,
        hash,
        true AS side
    FROM there
    WHERE (trace_id, hash) NOT IN (SELECT trace_id, hash FROM made)
    UNION ALL
    SELECT
        trace_id,
        hash,
        false AS side
    FROM made
    WHERE (trace_id, hash) NOT IN (SELECT trace_id, hash FROM there)
)
ORDER BY trace_id, side, hash
