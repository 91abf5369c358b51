-- title: rows that the log gave and that are stored as a newer record has them: rows of the same content merge
-- params: source String, database Identifier, table Identifier, sent Identifier (the table made from the log), k0 UInt64, k1 UInt64, first UInt64, last UInt64 (sequences)
-- returns: sequence, hash String (of the row that the log gave)
WITH
    there AS
    (
        SELECT
            sequence,
            hash
        FROM stored
        WHERE source = {source:String} AND sequence BETWEEN {first:UInt64} AND {last:UInt64}
    ),
    missing AS
    (
        SELECT
            tenant,
            trace_id,
            span_id,
            content_hash,
            sequence,
            hash
        FROM
        (
            SELECT
                *,
                reinterpretAsUInt128(sipHash128Keyed(({k0:UInt64}, {k1:UInt64}), tuple(*))) AS hash
            FROM {sent:Identifier}
        )
        WHERE (sequence, hash) NOT IN (SELECT sequence, hash FROM there)
    )
SELECT DISTINCT
    m.sequence,
    toString(m.hash) AS hash
FROM missing AS m
INNER JOIN
(
    SELECT
        tenant,
        trace_id,
        span_id,
        content_hash,
        max(sequence) AS newest
    FROM {database:Identifier}.{table:Identifier}
    WHERE (tenant, trace_id) IN (SELECT tenant, trace_id FROM missing)
    GROUP BY tenant, trace_id, span_id, content_hash
) AS s ON s.tenant = m.tenant AND s.trace_id = m.trace_id AND s.span_id = m.span_id AND s.content_hash = m.content_hash
WHERE s.newest > m.sequence
