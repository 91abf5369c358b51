-- title: how runs ended
-- params: runs Array(String)
-- returns: run_id, outcome
SELECT
    run_id,
    toString(outcome) AS outcome
FROM runs
WHERE run_id IN {runs:Array(String)}
