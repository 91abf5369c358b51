-- title: What evaluations say of some runs
-- params: run_ids Array(String)
-- returns: one row per run and name: run_id, name, times, mean (of the scores), labels
SELECT
    run_id,
    name,
    count() AS times,
    avg(score) AS mean,
    arraySort(groupUniqArray(5)(toString(label))) AS labels
FROM evaluations
WHERE has({run_ids:Array(String)}, run_id)
    AND isNotNull(name)
GROUP BY
    run_id,
    name
ORDER BY
    run_id,
    name
