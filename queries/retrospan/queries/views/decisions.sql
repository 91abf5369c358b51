-- title: decisions that agents stated, with their options and reasons
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   step Nullable(UInt32): step in which it was made; NULL if outside any step
--   span_id String: span that states it
--   name Nullable(String): what was to be decided
--   options Nullable(String): JSON array of the options to choose from
--   chosen Nullable(String): what was chosen
--   rationale Nullable(String): why
--   confidence Nullable(Float64): 0 to 1
--   at DateTime64(9, 'UTC'): when, by the producer's clock
--   agent_name Nullable(String): agent that decided
--   trace_id String: trace of the span
-- example: SELECT step, name, chosen, rationale FROM decisions WHERE run_id = {run_id:String} ORDER BY at
SELECT
    d.tenant AS tenant,
    d.run_id AS run_id,
    d.step AS step,
    d.span_id AS span_id,
    d.name AS name,
    d.options AS options,
    d.chosen AS chosen,
    d.rationale AS rationale,
    d.confidence AS confidence,
    d.at AS at,
    d.agent_name AS agent_name,
    d.trace_id AS trace_id
FROM canon_decisions AS d
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
