-- title: How much may be said in a run besides its steps: former readings are counted too, so that only 0 is exact
-- params: run_id String, trace_ids Array(String) (the run's)
-- returns: one row per kind: kind, there, other (of logs those that are not of conventions)
SELECT kind, there, other
FROM
(
    SELECT 'decisions' AS kind, count() AS there, toUInt64(0) AS other
    FROM canon_decisions
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT 'approvals' AS kind, count() AS there, toUInt64(0) AS other
    FROM canon_approvals
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT 'checkpoints' AS kind, count() AS there, toUInt64(0) AS other
    FROM canon_checkpoints
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT 'observations' AS kind, count() AS there, toUInt64(0) AS other
    FROM canon_observations
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT 'compactions' AS kind, count() AS there, toUInt64(0) AS other
    FROM canon_compactions
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT 'evaluations' AS kind, count() AS there, toUInt64(0) AS other
    FROM canon_evaluations
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT
        'logs' AS kind,
        count() AS there,
        countIf(
            NOT startsWith(event_name, 'retrospan.')
            AND (NOT startsWith(event_name, 'gen_ai.') OR event_name = 'gen_ai.client.operation.exception')
        ) AS other
    FROM raw_logs
    WHERE trace_id IN {trace_ids:Array(String)}
)
ORDER BY kind
