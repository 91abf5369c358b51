-- title: What a run's records leave in the dark, as the view missing_layers says it, by the keys of the tables behind it
-- params: run_id String, outcome String (of the run, as the view runs has it)
-- returns: one row per run: each layer of the view missing_layers
-- To plan the view, with the view runs in it for the outcome, takes twice as long as this.
SELECT
    CAST(f.positions = 0, 'Bool') AS task_position,
    CAST(f.without_result > 0 OR (r.broke_off AND f.calls_cut > 0), 'Bool') AS tool_outputs,
    CAST(f.explained = 0, 'Bool') AS decisions,
    CAST(f.attempts_unexplained > 0, 'Bool') AS retry_context,
    CAST(
        f.failed_unexplained OR (r.broke_off AND ({outcome:String} != 'killed' OR f.cut > 0)),
        'Bool'
    ) AS failure_context
FROM
(
    SELECT tenant, generation, is_open AND {outcome:String} != 'running' AS broke_off
    FROM canon_runs FINAL
    WHERE run_id = {run_id:String} AND NOT deleted
) AS r
LEFT JOIN
(
    SELECT
        tenant,
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
            generation,
            toUInt32(0) AS of_step,
            toUInt16(
                isNotNull(task_step)
                + 2 * (status = 'incomplete' AND step_kind NOT IN ('model', 'tool') AND isNull(state_before_hash))
            ) AS facts
        FROM canon_steps
        WHERE run_id = {run_id:String}
        UNION ALL
        SELECT
            tenant,
            generation,
            ifNull(canon_tool_calls.step, 0) AS of_step,
            toUInt16(
                2 * (status = 'incomplete' AND isNotNull(canon_tool_calls.step) AND isNull(arguments_hash))
                + 4 * (status = 'ok' AND isNull(result_source))
                + 8 * (status = 'incomplete' AND isNull(result_source))
                + 256 * isNull(arguments_hash)
            ) AS facts
        FROM canon_tool_calls
        WHERE run_id = {run_id:String}
        UNION ALL
        SELECT
            tenant,
            generation,
            toUInt32(0) AS of_step,
            toUInt16(2 * (status = 'incomplete' AND empty(input_values))) AS facts
        FROM canon_model_calls
        WHERE run_id = {run_id:String}
        UNION ALL
        SELECT
            tenant,
            generation,
            toUInt32(0) AS of_step,
            toUInt16(16 * (isNotNull(chosen) AND isNotNull(rationale))) AS facts
        FROM canon_decisions
        WHERE run_id = {run_id:String}
        UNION ALL
        SELECT
            tenant,
            generation,
            toUInt32(0) AS of_step,
            toUInt16(
                32 * ((attempt > 1 AND isNull(backoff_ms)) OR (status = 'error' AND isNull(error_type)))
            ) AS facts
        FROM canon_attempts
        WHERE run_id = {run_id:String}
        UNION ALL
        SELECT
            tenant,
            generation,
            ifNull(step, 0) AS of_step,
            toUInt16(64 * (isNull(step) OR isNull(error_type) OR isNull(error_message)) + 128) AS facts
        FROM canon_failures
        WHERE run_id = {run_id:String}
    )
    GROUP BY tenant, generation
) AS f ON f.tenant = r.tenant AND f.generation = r.generation
