-- title: evaluations, one row per result of an evaluator: what was judged, how, and by whom
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run in which the evaluation was said
--   step Nullable(UInt32): step that it was said on; NULL if outside any step
--   span_id String: span that it was said on; '' if it names none that is known
--   name LowCardinality(Nullable(String)): what was measured, such as relevance
--   score Nullable(Float64): the result as a number; its range and direction are the evaluator's
--   label LowCardinality(Nullable(String)): the result as a word, such as pass
--   explanation Nullable(String): why, in the evaluator's words
--   judged Nullable(String): reference of what was judged: the message that answered, a step, or a span; NULL if not told
--   judge LowCardinality(Nullable(String)): the evaluator, its agent or its model; NULL if not told
--   at DateTime64(9, 'UTC'): when, by the producer's clock
--   response_id Nullable(String): id of the answer that was judged, if the evaluation names it; it may be of another run
--   error_type Nullable(String): why the evaluator came to no result; NULL if it did
--   trace_id String: trace of the span
-- note: read from gen_ai.evaluation.result as a span event or a log record, the same attributes on a span, and the lists annotations and evaluations of OpenInference.
-- example: SELECT step, name, score, label, judged, judge FROM evaluations WHERE run_id = {run_id:String} ORDER BY at
-- example: SELECT name, count() AS times, avg(score) AS mean FROM evaluations GROUP BY name ORDER BY times DESC
SELECT
    e.tenant AS tenant,
    e.run_id AS run_id,
    e.step AS step,
    e.span_id AS span_id,
    e.name AS name,
    e.score AS score,
    e.label AS label,
    e.explanation AS explanation,
    e.judged AS judged,
    e.judge AS judge,
    e.at AS at,
    e.response_id AS response_id,
    e.error_type AS error_type,
    e.trace_id AS trace_id
FROM canon_evaluations AS e
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
