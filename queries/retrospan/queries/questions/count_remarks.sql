-- title: How much may be said in a run besides its steps: former readings are counted too, so that only 0 is exact
-- params: run_id String, trace_ids Array(String) (the run's)
-- returns: decisions, approvals, checkpoints, observations, compactions, evaluations, logs, other_logs (not of conventions)
SELECT
    (SELECT count() FROM canon_decisions WHERE run_id = {run_id:String}) AS decisions,
    (SELECT count() FROM canon_approvals WHERE run_id = {run_id:String}) AS approvals,
    (SELECT count() FROM canon_checkpoints WHERE run_id = {run_id:String}) AS checkpoints,
    (SELECT count() FROM canon_observations WHERE run_id = {run_id:String}) AS observations,
    (SELECT count() FROM canon_compactions WHERE run_id = {run_id:String}) AS compactions,
    (SELECT count() FROM canon_evaluations WHERE run_id = {run_id:String}) AS evaluations,
    logs,
    other_logs
FROM
(
    SELECT
        count() AS logs,
        countIf(
            NOT startsWith(event_name, 'retrospan.')
            AND (NOT startsWith(event_name, 'gen_ai.') OR event_name = 'gen_ai.client.operation.exception')
        ) AS other_logs
    FROM raw_logs
    WHERE trace_id IN {trace_ids:Array(String)}
)
