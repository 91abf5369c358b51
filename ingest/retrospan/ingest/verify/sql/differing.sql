-- title: rows that are stored and not in the log, and rows that are in the log and not stored
-- params: source String, sent Identifier (the table made from the log), k0 UInt64, k1 UInt64, first UInt64, last UInt64 (sequences)
-- returns: sequence, hash String, stored Bool; the first records first
WITH
    there AS
    (
        SELECT
            sequence,
            hash
        FROM stored
        WHERE source = {source:String} AND sequence BETWEEN {first:UInt64} AND {last:UInt64}
    ),
    made AS
    (
        SELECT
            sequence,
            reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(*))) AS hash
        FROM {sent:Identifier}
    )
SELECT
    sequence,
    toString(hash) AS hash,
    side
FROM
(
    SELECT
        sequence,
        hash,
        true AS side
    FROM there
    WHERE (sequence, hash) NOT IN (SELECT sequence, hash FROM made)
    UNION ALL
    SELECT
        sequence,
        hash,
        false AS side
    FROM made
    WHERE (sequence, hash) NOT IN (SELECT sequence, hash FROM there)
)
ORDER BY sequence, side, hash
