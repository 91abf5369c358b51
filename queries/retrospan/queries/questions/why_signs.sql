-- title: How some runs failed, and where they repeated themselves
-- params: run_ids Array(String)
-- returns: one row per run and sign: view (failures or loops), the origin or the tool, error_type, how often, which steps
SELECT
    'failures' AS view,
    run_id,
    CAST(origin, 'String') AS sign,
    ifNull(error_type, '') AS error_type,
    min(step) AS first_step,
    max(step) AS last_step,
    count() AS times
FROM failures
WHERE run_id IN {run_ids:Array(String)}
GROUP BY
    run_id,
    sign,
    error_type
UNION ALL
SELECT
    'loops' AS view,
    run_id,
    tool_name AS sign,
    '' AS error_type,
    CAST(first_step, 'Nullable(UInt32)') AS first_step,
    CAST(last_step, 'Nullable(UInt32)') AS last_step,
    repeats AS times
FROM loops
WHERE run_id IN {run_ids:Array(String)}
ORDER BY
    run_id,
    view,
    first_step
