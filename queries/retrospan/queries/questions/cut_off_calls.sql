-- title: Calls of a run that were sent and not answered
-- params: run_id String
-- returns: one row per call: kind (model or tool), step, name, arguments (JSON; NULL of a model call), started_at
SELECT
    kind,
    step,
    name,
    arguments,
    started_at
FROM
(
    SELECT
        'model' AS kind,
        toNullable(toUInt32(step)) AS step,
        ifNull(request_model, '') AS name,
        CAST(NULL, 'Nullable(String)') AS arguments,
        toNullable(started_at) AS started_at
    FROM model_calls
    WHERE run_id = {run_id:String} AND status = 'incomplete'
    UNION ALL
    SELECT
        'tool' AS kind,
        toNullable(step) AS step,
        tool_name AS name,
        arguments,
        started_at
    FROM tool_calls
    WHERE run_id = {run_id:String} AND status = 'incomplete'
)
ORDER BY
    isNull(step),
    step,
    kind,
    name
