-- title: The entities whose names look most like a mistyped one
-- params: typed String
-- returns: up to 5 rows: entity_type, entity_id, said (statements), total (all entities)
SELECT
    entity_type,
    entity_id,
    count() AS said,
    count() OVER () AS total
FROM observations
GROUP BY
    entity_type,
    entity_id
ORDER BY
    position(concat(entity_type, '/', entity_id), {typed:String}) = 0,
    editDistance(
        substring(concat(entity_type, '/', entity_id), 1, 100),
        substring({typed:String}, 1, 100)
    ),
    entity_type,
    entity_id
LIMIT 5
