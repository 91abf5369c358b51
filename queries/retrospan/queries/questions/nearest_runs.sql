-- title: The runs whose ids look most like a mistyped one
-- params: typed String
-- returns: up to 3 rows: run_id, agent_name, outcome, started_at, input (its first 200 characters), total (all runs)
SELECT
    run_id,
    agent_name,
    outcome,
    started_at,
    substringUTF8(input, 1, 200) AS input,
    count() OVER () AS total
FROM runs
ORDER BY
    editDistance(
        substring(substring(run_id, 1, length({typed:String})), 1, 200),
        substring({typed:String}, 1, 200)
    ),
    started_at DESC
LIMIT 3
