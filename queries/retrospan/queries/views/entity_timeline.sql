-- title: entity timeline, one row per change of a field's value, as known now
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   entity_type LowCardinality(String): kind of thing
--   entity_id String: which one
--   field String: the field that changed
--   old_value Nullable(String): JSON of the previous value; NULL if there was none
--   new_value Nullable(String): JSON of the value from then on; NULL if the field was cleared
--   at DateTime64(9, 'UTC'): since when the new value holds
--   known_at DateTime64(9, 'UTC'): when that arrived at the collector
--   run_id String: run that changed it
--   step Nullable(UInt32): step of that run
--   span_id String: span that stated it
--   agent_name Nullable(String): agent that changed it
--   source Nullable(String): where the agent learned it
--   correction Bool: true if a correction changed it
--   observation_id String: the statement that introduced the new value
--   old_observation_id Nullable(String): the last statement of the previous value; NULL if there was none
--   old_run_id Nullable(String): run of that statement
--   old_step Nullable(UInt32): step of that run
--   old_agent_name Nullable(String): agent of that statement
--   old_at Nullable(DateTime64(9, 'UTC')): since when that statement had held
--   said_at DateTime64(9, 'UTC'): when the new value was stated, by the producer's clock
--   trace_id String: trace of the span
-- note: a statement that repeats the current value, or loses to one of higher priority, changes nothing and has no row.
-- note: of the statements that hold at a time the greatest wins, by priority, valid_from, known_from, observation_id.
-- example: SELECT at, field, old_value, new_value, agent_name FROM entity_timeline WHERE entity_type = 'config' AND entity_id = 'acme-config' ORDER BY at, field
SELECT
    tenant,
    entity_type,
    entity_id,
    field,
    old.1 AS old_value,
    value AS new_value,
    valid_from AS at,
    known_from AS known_at,
    run_id,
    step,
    span_id,
    agent_name,
    source,
    correction,
    observation_id,
    nullIf(old.3, '') AS old_observation_id,
    if(old.3 = '', NULL, old.4) AS old_run_id,
    old.5 AS old_step,
    old.6 AS old_agent_name,
    if(old.3 = '', NULL, old.7) AS old_at,
    said_at,
    trace_id
FROM
(
    -- What wins from its valid_from on, each with what had won before.
    SELECT
        tenant,
        entity_type,
        entity_id,
        field,
        value,
        value_hash,
        valid_from,
        known_from,
        run_id,
        step,
        span_id,
        agent_name,
        source,
        correction,
        observation_id,
        said_at,
        trace_id,
        lagInFrame(tuple(value, value_hash, observation_id, run_id, step, agent_name, valid_from)) OVER
        (
            PARTITION BY tenant, entity_type, entity_id, field
            ORDER BY valid_from ASC
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS old
    FROM
    (
        SELECT
            tenant,
            entity_type,
            entity_id,
            field,
            observation_id,
            said.1 AS known_from,
            said.2 AS value,
            said.3 AS value_hash,
            said.4 AS valid_from,
            said.5 AS run_id,
            said.6 AS step,
            said.7 AS span_id,
            said.8 AS agent_name,
            said.9 AS source,
            said.10 AS correction,
            said.11 AS said_at,
            said.12 AS trace_id,
            (said.13, valid_from, known_from, observation_id) AS rank,
            max(rank) OVER
            (
                PARTITION BY tenant, entity_type, entity_id, field
                ORDER BY valid_from ASC
                RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS winner
        FROM
        (
            -- The same statement from two runs is one: the first to arrive.
            SELECT
                tenant,
                entity_type,
                entity_id,
                field,
                observation_id,
                argMin(
                    (
                        known_from,
                        value,
                        value_hash,
                        valid_from,
                        run_id,
                        step,
                        span_id,
                        agent_name,
                        source,
                        correction,
                        said_at,
                        trace_id,
                        priority
                    ),
                    (known_from, run_id, span_id)
                ) AS said
            FROM observations
            GROUP BY tenant, entity_type, entity_id, field, observation_id
        )
    )
    WHERE rank = winner
)
WHERE value_hash != old.2
