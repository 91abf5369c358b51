-- title: missing layers, what a run's records leave in the dark: true means that the layer is missing
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   task_position Bool: no step says which step of the task it is (retrospan.step.index)
--   tool_outputs Bool: a tool was executed, or may have been when the run broke off, and what it returned is not on record
--   decisions Bool: no decision with a rationale was stated
--   retry_context Bool: something was retried, but the error of an attempt, or the wait before the next, is not recorded
--   failure_context Bool: something failed, but the step, its input or the error's type or message is not recorded; or the run broke off, and it is not known why, or not with which input the step that it was in
--   missing UInt8: how many of the five are missing
-- note: a layer that the run did not need (no tool call, no retry, no failure) is not missing.
-- example: SELECT run_id, tool_outputs, decisions, failure_context FROM missing_layers WHERE missing > 2
SELECT
    r.tenant AS tenant,
    r.run_id AS run_id,
    CAST(s.positions = 0, 'Bool') AS task_position,
    CAST(t.without_result > 0 OR (r.broke_off AND t.cut > 0), 'Bool') AS tool_outputs,
    CAST(d.explained = 0, 'Bool') AS decisions,
    CAST(a.unexplained > 0, 'Bool') AS retry_context,
    CAST(
        f.unexplained > 0
            OR (r.broke_off AND (r.outcome != 'killed' OR s.cut > 0 OR t.cut_without_input > 0 OR m.cut > 0)),
        'Bool'
    ) AS failure_context,
    toUInt8(task_position + tool_outputs + decisions + retry_context + failure_context) AS missing
FROM
(
    SELECT
        c.tenant AS tenant,
        c.run_id AS run_id,
        c.generation AS generation,
        o.outcome AS outcome,
        c.is_open AND outcome != 'running' AS broke_off
    FROM (SELECT tenant, run_id, generation, is_open FROM canon_runs FINAL WHERE NOT deleted) AS c
    INNER JOIN (SELECT tenant, run_id, outcome FROM runs) AS o ON o.tenant = c.tenant AND o.run_id = c.run_id
) AS r
LEFT JOIN
(
    SELECT
        tenant,
        run_id,
        generation,
        countIf(isNotNull(task_step)) AS positions,
        countIf(
            status = 'incomplete' AND step_kind NOT IN ('model', 'tool') AND isNull(state_before_hash)
        ) AS cut
    FROM canon_steps
    GROUP BY tenant, run_id, generation
) AS s ON s.tenant = r.tenant AND s.run_id = r.run_id AND s.generation = r.generation
LEFT JOIN
(
    SELECT
        tenant,
        run_id,
        generation,
        countIf(status = 'ok' AND isNull(result_source)) AS without_result,
        countIf(status = 'incomplete' AND isNull(result_source)) AS cut,
        countIf(status = 'incomplete' AND isNotNull(canon_tool_calls.step) AND isNull(arguments_hash)) AS cut_without_input
    FROM canon_tool_calls
    GROUP BY tenant, run_id, generation
) AS t ON t.tenant = r.tenant AND t.run_id = r.run_id AND t.generation = r.generation
LEFT JOIN
(
    SELECT tenant, run_id, generation, countIf(status = 'incomplete' AND empty(input_values)) AS cut
    FROM canon_model_calls
    GROUP BY tenant, run_id, generation
) AS m ON m.tenant = r.tenant AND m.run_id = r.run_id AND m.generation = r.generation
LEFT JOIN
(
    SELECT tenant, run_id, generation, countIf(isNotNull(chosen) AND isNotNull(rationale)) AS explained
    FROM canon_decisions
    GROUP BY tenant, run_id, generation
) AS d ON d.tenant = r.tenant AND d.run_id = r.run_id AND d.generation = r.generation
LEFT JOIN
(
    SELECT
        tenant,
        run_id,
        generation,
        countIf((attempt > 1 AND isNull(backoff_ms)) OR (status = 'error' AND isNull(error_type))) AS unexplained
    FROM canon_attempts
    GROUP BY tenant, run_id, generation
) AS a ON a.tenant = r.tenant AND a.run_id = r.run_id AND a.generation = r.generation
LEFT JOIN
(
    SELECT
        x.tenant AS tenant,
        x.run_id AS run_id,
        x.generation AS generation,
        countIf(
            isNull(x.step)
            OR isNull(x.error_type)
            OR isNull(x.error_message)
            OR (c.step != 0 AND isNull(c.arguments_hash))
        ) AS unexplained
    FROM canon_failures AS x
    LEFT JOIN
    (
        SELECT tenant, run_id, generation, ifNull(canon_tool_calls.step, 0) AS step, arguments_hash
        FROM canon_tool_calls
        WHERE isNotNull(canon_tool_calls.step)
    ) AS c ON c.tenant = x.tenant AND c.run_id = x.run_id AND c.generation = x.generation AND c.step = ifNull(x.step, 0)
    GROUP BY tenant, run_id, generation
) AS f ON f.tenant = r.tenant AND f.run_id = r.run_id AND f.generation = r.generation
SETTINGS join_use_nulls = 0
