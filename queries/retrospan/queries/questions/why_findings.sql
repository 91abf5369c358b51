-- title: What rules found wrong with a run, but for what is told otherwise
-- params: run_id String, told Array(String) (rules to leave out), rows UInt32
-- returns: one row per finding: run_id, rule, severity, step, explanation
SELECT
    run_id,
    rule,
    severity,
    step,
    explanation
FROM findings
WHERE run_id = {run_id:String}
    AND NOT has({told:Array(String)}, rule)
ORDER BY
    step NULLS LAST,
    rule,
    explanation
LIMIT {rows:UInt32}
