-- title: What the instrumentation of a run says, in counts
-- params: run_id String
-- returns: one row per run: what is there and what is not; scopes as dialect, tab, scope, those of model calls first
SELECT
    run.outcome AS outcome,
    run.incomplete_because AS incomplete_because,
    run.conversation_id IS NOT NULL AS has_conversation,
    models.calls AS calls,
    models.without_input AS without_input,
    models.without_output AS without_output,
    models.without_tokens AS without_tokens,
    tools.tools AS tools,
    tools.without_result AS without_result,
    tools.without_span AS without_span,
    acts.steps AS steps,
    acts.with_state AS with_state,
    acts.structured AS structured,
    sent.spans AS spans,
    sent.around AS around,
    sent.dropped AS dropped,
    arrayDistinct(arrayConcat(sent.model_scopes, sent.all_scopes)) AS scopes
FROM
(
    SELECT outcome, incomplete_because, conversation_id
    FROM runs
    WHERE run_id = {run_id:String}
) AS run
CROSS JOIN
(
    SELECT
        count() AS calls,
        countIf(input_messages IS NULL) AS without_input,
        countIf(output_messages IS NULL AND status = 'ok') AS without_output,
        countIf(input_tokens IS NULL AND status = 'ok') AS without_tokens
    FROM model_calls
    WHERE run_id = {run_id:String}
) AS models
CROSS JOIN
(
    SELECT
        countIf(status NOT IN ('not_executed', 'unknown')) AS tools,
        countIf(status = 'ok' AND result IS NULL) AS without_result,
        countIf(status NOT IN ('not_executed', 'unknown') AND span_id IS NULL) AS without_span
    FROM tool_calls
    WHERE run_id = {run_id:String}
) AS tools
CROSS JOIN
(
    SELECT
        count() AS steps,
        countIf(state_source IN ('explicit', 'framework')) AS with_state,
        countIf(node IS NOT NULL OR task_step IS NOT NULL OR step_kind = 'step') AS structured
    FROM steps
    WHERE run_id = {run_id:String}
) AS acts
CROSS JOIN
(
    SELECT
        count() AS spans,
        countIf(operation IN ('agent', 'workflow')) AS around,
        sum(dropped) AS dropped,
        arraySort(groupUniqArrayIf(concat(dialect, '\t', scope_name), operation = 'inference')) AS model_scopes,
        arraySort(groupUniqArray(concat(dialect, '\t', scope_name))) AS all_scopes
    FROM spans
    WHERE run_id = {run_id:String}
) AS sent
