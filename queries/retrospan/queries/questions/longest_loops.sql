-- title: How often the longest loop of each of some runs repeats
-- params: run_ids Array(String)
-- returns: one row per run that has a loop: run_id, repeats
SELECT
    run_id,
    max(repeats) AS repeats
FROM loops
WHERE has({run_ids:Array(String)}, run_id)
GROUP BY run_id
