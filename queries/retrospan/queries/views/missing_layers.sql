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
    CAST(f.positions = 0, 'Bool') AS task_position,
    CAST(f.without_result > 0 OR (r.broke_off AND f.calls_cut > 0), 'Bool') AS tool_outputs,
    CAST(f.explained = 0, 'Bool') AS decisions,
    CAST(f.attempts_unexplained > 0, 'Bool') AS retry_context,
    CAST(f.failed_unexplained OR (r.broke_off AND (r.outcome != 'killed' OR f.cut > 0)), 'Bool') AS failure_context,
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
        countIf(bitTest(facts, 0)) AS positions,
        countIf(bitTest(facts, 1)) AS cut,
        countIf(bitTest(facts, 2)) AS without_result,
        countIf(bitTest(facts, 3)) AS calls_cut,
        countIf(bitTest(facts, 4)) AS explained,
        countIf(bitTest(facts, 5)) AS attempts_unexplained,
        countIf(bitTest(facts, 6)) > 0
            OR hasAny(
                groupArrayIf(of_step, bitTest(facts, 7) AND of_step != 0),
                groupArrayIf(of_step, bitTest(facts, 8) AND of_step != 0)
            ) AS failed_unexplained
    FROM
    (
        -- What a row says, a bit for each: to plan six joins takes longer than to answer of one run.
        SELECT
            tenant,
            run_id,
            generation,
            toUInt32(0) AS of_step,
            toUInt16(
                isNotNull(task_step)
                + 2 * (status = 'incomplete' AND step_kind NOT IN ('model', 'tool') AND isNull(state_before_hash))
            ) AS facts
        FROM canon_steps
        UNION ALL
        SELECT
            tenant,
            run_id,
            generation,
            ifNull(canon_tool_calls.step, 0) AS of_step,
            toUInt16(
                2 * (status = 'incomplete' AND isNotNull(canon_tool_calls.step) AND isNull(arguments_hash))
                + 4 * (status = 'ok' AND isNull(result_source))
                + 8 * (status = 'incomplete' AND isNull(result_source))
                + 256 * isNull(arguments_hash)
            ) AS facts
        FROM canon_tool_calls
        UNION ALL
        SELECT
            tenant,
            run_id,
            generation,
            toUInt32(0) AS of_step,
            toUInt16(2 * (status = 'incomplete' AND empty(input_values))) AS facts
        FROM canon_model_calls
        UNION ALL
        SELECT
            tenant,
            run_id,
            generation,
            toUInt32(0) AS of_step,
            toUInt16(16 * (isNotNull(chosen) AND isNotNull(rationale))) AS facts
        FROM canon_decisions
        UNION ALL
        SELECT
            tenant,
            run_id,
            generation,
            toUInt32(0) AS of_step,
            toUInt16(
                32 * ((attempt > 1 AND isNull(backoff_ms)) OR (status = 'error' AND isNull(error_type)))
            ) AS facts
        FROM canon_attempts
        UNION ALL
        SELECT
            tenant,
            run_id,
            generation,
            ifNull(step, 0) AS of_step,
            toUInt16(64 * (isNull(step) OR isNull(error_type) OR isNull(error_message)) + 128) AS facts
        FROM canon_failures
    )
    GROUP BY tenant, run_id, generation
) AS f ON f.tenant = r.tenant AND f.run_id = r.run_id AND f.generation = r.generation
SETTINGS join_use_nulls = 0
