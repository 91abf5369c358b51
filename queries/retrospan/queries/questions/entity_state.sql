-- title: The fields of an entity at a time, as known at a time
-- params: entity_type String, entity_id String, at String ('' = any), known_at String ('' = any)
-- returns: one row per field, columns of the view entity_state
SELECT
    field,
    value,
    introduced_by,
    last_asserted_by,
    valid_from,
    known_from,
    source,
    correction,
    since,
    run_id,
    step,
    span_id,
    agent_name,
    confidence,
    priority,
    observations
FROM entity_state(
    entity_type = {entity_type:String},
    entity_id = {entity_id:String},
    at = {at:String},
    known_at = {known_at:String}
)
ORDER BY field
