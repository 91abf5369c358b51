-- title: scores, one row per run and name of an evaluation: what evaluators said of the run in all
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run that was judged
--   name LowCardinality(String): what was measured, such as relevance
--   results UInt64: evaluations of that name
--   scored UInt64: of these, with a number as their score
--   mean Nullable(Float64): mean of these numbers; NULL if there are none
--   median Nullable(Float64): their median; NULL if there are none
--   labels Array(String): the labels that were given, each once, at most 5
--   unknown LowCardinality(Nullable(String)): why there is no mean: no_number (there are labels only) or no_result (no evaluator came to a result that could be read); NULL if there is one
--   last_at DateTime64(9, 'UTC'): time of the last of them, by the producer's clock
-- note: an evaluation that links to a span of another run is of that run, if the trace of the span is of one run only; else it is of the run in which it was said. Evaluations without a name are in no row, nor is a run without evaluations.
-- example: SELECT name, mean, labels FROM run_scores WHERE run_id = {run_id:String} ORDER BY name
-- example: SELECT run_id, agent_name, outcome FROM runs WHERE run_id IN (SELECT run_id FROM run_scores WHERE name = 'relevance' AND mean < 0.5)
SELECT
    e.tenant AS tenant,
    if(t.run_id = '', e.run_id, t.run_id) AS run_id,
    assumeNotNull(e.name) AS name,
    count() AS results,
    countIf(isFinite(e.score)) AS scored,
    if(scored = 0, NULL, avgIf(assumeNotNull(e.score), isFinite(e.score))) AS mean,
    if(scored = 0, NULL, quantileExactInclusiveIf(0.5)(assumeNotNull(e.score), ifNull(isFinite(e.score), false))) AS median,
    arraySort(groupUniqArrayIf(5)(toString(assumeNotNull(e.label)), isNotNull(e.label))) AS labels,
    CAST(
        multiIf(scored > 0, NULL, notEmpty(labels), 'no_number', 'no_result'),
        'LowCardinality(Nullable(String))'
    ) AS unknown,
    max(e.at) AS last_at
FROM
(
    SELECT
        tenant,
        run_id,
        canon_evaluations.name AS name,
        score,
        label,
        at,
        if(
            startsWith(ifNull(judged, ''), 'span:'),
            splitByChar('/', substring(assumeNotNull(judged), 6))[1],
            ''
        ) AS judged_trace
    FROM canon_evaluations
    INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
        USING (tenant, run_id, generation)
    WHERE isNotNull(canon_evaluations.name)
) AS e
LEFT JOIN
(
    SELECT tenant, trace_id, run_ids[1] AS run_id
    FROM canon_traces FINAL
    WHERE length(run_ids) = 1
        AND trace_id IN
        (
            SELECT splitByChar('/', substring(assumeNotNull(judged), 6))[1]
            FROM canon_evaluations
            WHERE startsWith(ifNull(judged, ''), 'span:')
        )
) AS t
    ON t.tenant = e.tenant AND t.trace_id = e.judged_trace
GROUP BY tenant, run_id, name
SETTINGS join_use_nulls = 0
