-- title: some steps in a few words
-- params: run_ids Array(String), generations Array(UInt64), steps Array(UInt32)
-- returns: run_id, generation, step, label
SELECT
    s.run_id AS run_id,
    s.generation AS generation,
    s.step AS step,
    multiIf(
        s.model_call != 0, trimRight(concat('model call ', toString(s.model_call), ' ', ifNull(m.request_model, ''))),
        s.tool_call != 0, concat(s.name, '(', substringUTF8(ifNull(t.arguments, ''), 1, 120), ')'),
        concat(s.step_kind, ' ', s.name)
    ) AS label
FROM
(
    SELECT tenant, run_id, generation, step, step_kind, name, model_call, tool_call
    FROM canon_steps
    WHERE
        run_id IN {run_ids:Array(String)}
        AND generation IN {generations:Array(UInt64)}
        AND step IN {steps:Array(UInt32)}
) AS s
LEFT ANY JOIN
(
    SELECT tenant, run_id, generation, ordinal, substringUTF8(canon_tool_calls.arguments, 1, 120) AS arguments
    FROM canon_tool_calls
    WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
) AS t
    ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
LEFT ANY JOIN
(
    SELECT tenant, run_id, generation, ordinal, request_model
    FROM canon_model_calls
    WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
) AS m
    ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.ordinal = s.model_call
