-- title: Runs whose id starts with a prefix, the exact one first
-- params: prefix String
-- returns: up to 12 rows: run_id, agent_name, outcome, started_at, input (its first 200 characters)
SELECT
    run_id,
    agent_name,
    outcome,
    started_at,
    substringUTF8(input, 1, 200) AS input
FROM runs
WHERE startsWith(run_id, {prefix:String})
ORDER BY
    run_id = {prefix:String} DESC,
    started_at DESC
LIMIT 12
