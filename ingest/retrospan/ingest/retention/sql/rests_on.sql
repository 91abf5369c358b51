-- title: what some runs say they rest on, as stated or matched by id; a message that a run's own calls name is the run's
-- params: tenant String, run_ids Array(String)
-- returns: object String
SELECT DISTINCT object
FROM canon_edges
WHERE tenant = {tenant:String}
    AND run_id IN {run_ids:Array(String)}
    AND (evidence = 'stated' OR evidence = 'matched' AND NOT startsWith(object, 'message:'))
ORDER BY object
