-- title: provenance edges, which thing came from which, with the names of W3C PROV
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   subject String: reference of the later thing
--   relation LowCardinality(String): used, wasGeneratedBy, wasDerivedFrom, wasInformedBy, wasAttributedTo, actedOnBehalfOf, wasInvalidatedBy
--   object String: reference of the earlier thing
--   role LowCardinality(Nullable(String)): part the object played; for a used message, its role; `argument to, one of 3` if three earlier things hold the value
--   evidence LowCardinality(String): stated (event or link), matched (by id) or inferred (by content)
--   run_id String: run that holds the edge
--   step Nullable(UInt32): step of that run
--   at DateTime64(9, 'UTC'): when, by the producer's clock
--   place Nullable(String): where in the object stands what was taken: the way into it and characters, such as items[2].note[120:138]; NULL if it is all of it, or not known
-- note: every model call used each message of its input; those edges are derived from the calls, the others are stored.
-- example: SELECT subject, relation, object, evidence FROM provenance_edges WHERE run_id = {run_id:String} ORDER BY at, subject, object
SELECT DISTINCT
    e.tenant AS tenant,
    e.subject AS subject,
    e.relation AS relation,
    e.object AS object,
    e.role AS role,
    e.evidence AS evidence,
    e.run_id AS run_id,
    e.step AS step,
    e.at AS at,
    e.place AS place
FROM canon_edges AS e
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
UNION ALL
SELECT DISTINCT
    c.tenant AS tenant,
    retrospan_step_reference(c.run_id, c.step) AS subject,
    CAST('used', 'LowCardinality(String)') AS relation,
    concat('message:', v.hash) AS object,
    CAST(v.role, 'LowCardinality(Nullable(String))') AS role,
    CAST('matched', 'LowCardinality(String)') AS evidence,
    c.run_id AS run_id,
    CAST(c.step, 'Nullable(UInt32)') AS step,
    c.started_at AS at,
    CAST(NULL, 'Nullable(String)') AS place
FROM
(
    SELECT tenant, run_id, generation, step, started_at, arrayJoin(input_values) AS number
    FROM canon_model_calls
) AS c
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
INNER JOIN canon_values AS v
    ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation AND v.number = c.number
