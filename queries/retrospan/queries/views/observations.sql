-- title: observations, one row per statement about one field of an entity
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   entity_type LowCardinality(String): kind of thing, such as config
--   entity_id String: which one
--   field String: which field of it
--   op LowCardinality(String): set or clear
--   value Nullable(String): JSON of the value; NULL if the field is cleared
--   valid_from DateTime64(9, 'UTC'): since when it holds in the world
--   known_from DateTime64(9, 'UTC'): when it arrived at the collector
--   run_id String: run that stated it
--   step Nullable(UInt32): step of that run; NULL if it was stated outside any step
--   span_id String: span that stated it
--   agent_name Nullable(String): agent that stated it
--   source LowCardinality(Nullable(String)): where the agent learned it, in its own words
--   confidence Nullable(Float64): 0 to 1
--   priority Int32: up to 999; the higher one wins, whenever it was stated. A correction has 1000
--   correction Bool: true if it corrects an earlier statement
--   reason Nullable(String): why, in the agent's own words
--   observation_id String: names the statement; all fields of one event have the same
--   said_at DateTime64(9, 'UTC'): when it was stated, by the producer's clock
--   trace_id String: trace of the span
--   value_hash String: comparison hash of the value; '' if the field is cleared
-- note: if two runs state the same (observation_id, field), each has its row here; entity_timeline and entity_state count it once.
-- example: SELECT field, value, valid_from, agent_name FROM observations WHERE entity_type = 'config' AND entity_id = 'acme-config' ORDER BY valid_from
SELECT
    o.tenant AS tenant,
    o.entity_type AS entity_type,
    o.entity_id AS entity_id,
    o.field AS field,
    o.op AS op,
    o.value AS value,
    o.valid_from AS valid_from,
    o.known_from AS known_from,
    o.run_id AS run_id,
    o.step AS step,
    o.span_id AS span_id,
    o.agent_name AS agent_name,
    o.source AS source,
    o.confidence AS confidence,
    o.priority AS priority,
    o.correction AS correction,
    o.reason AS reason,
    o.observation_id AS observation_id,
    o.said_at AS said_at,
    o.trace_id AS trace_id,
    o.value_hash AS value_hash
FROM canon_observations AS o
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
