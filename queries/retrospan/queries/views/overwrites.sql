-- title: overwrites, values of another run that a run replaced, and whether it had read them
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   entity_type LowCardinality(String): kind of thing
--   entity_id String: which one
--   field String: the field that was overwritten
--   old_value String: JSON of the value that was lost
--   new_value Nullable(String): JSON of the value that replaced it; NULL if the field was cleared
--   at DateTime64(9, 'UTC'): since when the new value holds
--   run_id String: run that overwrote it
--   step Nullable(UInt32): step of that run
--   agent_name Nullable(String): agent that overwrote it
--   was_read Bool: the run stated that it had read the old value (retrospan.use); false: it overwrote it blindly
--   old_run_id String: run of the old value
--   old_step Nullable(UInt32): step of that run
--   old_agent_name Nullable(String): agent of the old value
--   old_since DateTime64(9, 'UTC'): since when the old value had held
--   observation_id String: the statement of the new value
--   old_observation_id String: the last statement of the old value
--   known_at DateTime64(9, 'UTC'): when the new value arrived
--   span_id String: span that stated it
--   trace_id String: trace of the span
--   correction Bool: true if a correction did it
-- note: a run counts as having read the value if it used the field, the entity or the statement while the value held and before it stated the new one.
-- example: SELECT entity_type, entity_id, field, old_value, new_value, run_id, agent_name FROM overwrites WHERE NOT was_read ORDER BY at DESC
SELECT
    t.tenant AS tenant,
    t.entity_type AS entity_type,
    t.entity_id AS entity_id,
    t.field AS field,
    assumeNotNull(t.old_value) AS old_value,
    t.new_value AS new_value,
    t.at AS at,
    t.run_id AS run_id,
    t.step AS step,
    t.agent_name AS agent_name,
    CAST(
        arrayExists(
            r -> ifNull(r.1 = t.field, 1)
                AND r.3 <= t.said_at
                AND ifNull(r.2 IN (t.first_observation_id, assumeNotNull(t.old_observation_id)), r.3 >= t.old_since),
            u.reads
        ),
        'Bool'
    ) AS was_read,
    assumeNotNull(t.old_run_id) AS old_run_id,
    t.old_step AS old_step,
    t.old_agent_name AS old_agent_name,
    t.old_since AS old_since,
    t.observation_id AS observation_id,
    assumeNotNull(t.old_observation_id) AS old_observation_id,
    t.known_at AS known_at,
    t.span_id AS span_id,
    t.trace_id AS trace_id,
    t.correction AS correction
FROM
(
    SELECT
        tenant,
        entity_type,
        entity_id,
        field,
        old_value,
        new_value,
        at,
        run_id,
        step,
        agent_name,
        old_run_id,
        old_step,
        old_agent_name,
        observation_id,
        old_observation_id,
        known_at,
        said_at,
        span_id,
        trace_id,
        correction,
        lagInFrame((at, observation_id)) OVER
        (
            PARTITION BY tenant, entity_type, entity_id, field
            ORDER BY at ASC
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS before,
        before.1 AS old_since,
        before.2 AS first_observation_id
    FROM entity_timeline
) AS t
LEFT JOIN
(
    SELECT
        x.tenant AS tenant,
        x.entity_type AS entity_type,
        x.entity_id AS entity_id,
        x.run_id AS run_id,
        groupArray((x.field, x.observation_id, x.at)) AS reads
    FROM canon_uses AS x
    INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
        USING (tenant, run_id, generation)
    GROUP BY x.tenant, x.entity_type, x.entity_id, x.run_id
) AS u ON u.tenant = t.tenant AND u.entity_type = t.entity_type AND u.entity_id = t.entity_id AND u.run_id = t.run_id
WHERE isNotNull(t.old_value) AND t.old_run_id != t.run_id
SETTINGS join_use_nulls = 0
