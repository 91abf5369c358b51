-- title: Runs that have a trace whose id starts with a prefix
-- params: prefix String
-- returns: up to 12 rows: run_id, agent_name, outcome, started_at, input (its first 200 characters)
SELECT
    run_id,
    agent_name,
    outcome,
    started_at,
    substringUTF8(input, 1, 200) AS input
FROM runs
WHERE run_id IN
(
    SELECT DISTINCT run_id
    FROM spans
    WHERE startsWith(trace_id, {prefix:String}) AND run_id != ''
    LIMIT 13
)
ORDER BY started_at DESC
LIMIT 12
