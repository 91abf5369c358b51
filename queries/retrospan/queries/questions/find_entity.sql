-- title: What is stored of one entity
-- params: entity_type String, entity_id String
-- returns: one row: said (statements), first_valid, last_valid, first_known
SELECT
    count() AS said,
    min(valid_from) AS first_valid,
    max(valid_from) AS last_valid,
    min(known_from) AS first_known
FROM observations
WHERE entity_type = {entity_type:String} AND entity_id = {entity_id:String}
