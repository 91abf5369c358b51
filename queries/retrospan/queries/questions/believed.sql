-- title: What a run had observed until a moment: the values that count then, the newest first
-- params: run_id String, until DateTime64(9, 'UTC'), most UInt32
-- returns: one row per field of an entity: entity_type, entity_id, field, value (JSON), said_at, total (all of them)
SELECT
    entity_type,
    entity_id,
    field,
    latest.1 AS value,
    latest.2 AS said_at,
    count() OVER () AS total
FROM
(
    SELECT
        entity_type,
        entity_id,
        field,
        argMax((value, said_at), (priority, valid_from, said_at, observation_id)) AS latest
    FROM observations
    WHERE run_id = {run_id:String}
        AND said_at <= {until:DateTime64(9, 'UTC')}
        AND valid_from <= {until:DateTime64(9, 'UTC')}
    GROUP BY
        entity_type,
        entity_id,
        field
)
ORDER BY
    said_at DESC,
    entity_type,
    entity_id,
    field
LIMIT {most:UInt32}
