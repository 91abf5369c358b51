-- title: failures, each error of a run once, where it began
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   step Nullable(UInt32): step that failed; NULL if outside any step
--   span_id String: span that failed
--   origin LowCardinality(String): reasoning, tool_invocation, tool_response or interpretation
--   class LowCardinality(Nullable(String)): transient, systematic or architectural; NULL if undetermined
--   error_type Nullable(String): class of the error
--   error_message Nullable(String): text of the error
--   handled Bool: true if the agent continued after it, or the run succeeded anyway
--   at DateTime64(9, 'UTC'): when the span ended, by the producer's clock
--   trace_id String: trace of the span
-- note: an interruption that waits for a person is not a failure.
-- example: SELECT step, origin, class, error_type, handled FROM failures WHERE run_id = {run_id:String} ORDER BY at
-- example: SELECT origin, class, count() AS times FROM failures GROUP BY origin, class ORDER BY times DESC
SELECT
    f.tenant AS tenant,
    f.run_id AS run_id,
    f.step AS step,
    f.span_id AS span_id,
    f.origin AS origin,
    f.error_class AS class,
    f.error_type AS error_type,
    f.error_message AS error_message,
    f.handled AS handled,
    f.at AS at,
    f.trace_id AS trace_id
FROM canon_failures AS f
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
