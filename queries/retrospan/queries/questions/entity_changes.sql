-- title: What changed on an entity, the latest changes, in order
-- params: entity_type String, entity_id String, since DateTime64(9, 'UTC'), most UInt32 (rows)
-- returns: one row per change, columns of the view entity_timeline, with total (changes since then)
SELECT
    entity_type,
    entity_id,
    field,
    old_value,
    new_value,
    at,
    known_at,
    run_id,
    step,
    span_id,
    agent_name,
    source,
    correction,
    observation_id,
    total
FROM
(
    SELECT
        entity_type,
        entity_id,
        field,
        old_value,
        new_value,
        at,
        known_at,
        run_id,
        step,
        span_id,
        agent_name,
        source,
        correction,
        observation_id,
        count() OVER () AS total
    FROM entity_timeline
    WHERE entity_type = {entity_type:String}
        AND entity_id = {entity_id:String}
        AND at >= {since:DateTime64(9, 'UTC')}
    ORDER BY
        at DESC,
        field DESC
    LIMIT {most:UInt32}
)
ORDER BY
    at,
    field
