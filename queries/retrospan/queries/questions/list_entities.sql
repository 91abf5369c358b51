-- title: The entities that something is known of, those of which something was said last first
-- params: since DateTime64(9, 'UTC') (of what is said), most UInt32 (rows)
-- returns: one row per entity: entity_type, entity_id, fields, said (statements), runs, last_at, total (all entities)
SELECT
    entity_type,
    entity_id,
    uniqExact(field) AS fields,
    count() AS said,
    uniqExact(run_id) AS runs,
    max(valid_from) AS last_at,
    count() OVER () AS total
FROM observations
WHERE valid_from >= {since:DateTime64(9, 'UTC')}
GROUP BY
    entity_type,
    entity_id
ORDER BY
    last_at DESC,
    entity_type,
    entity_id
LIMIT {most:UInt32}
