-- title: The latest deleted run whose id begins so, or equals that of one of its traces, by its receipt
-- params: prefix String
-- returns: at most one row: run_id, deleted_at, rule, log, number
SELECT
    subject AS run_id,
    deleted_at,
    rule,
    log,
    number
FROM retention_log
WHERE what = 'run' AND (startsWith(subject, {prefix:String}) OR has(trace_ids, {prefix:String}))
ORDER BY deleted_at DESC
LIMIT 1
