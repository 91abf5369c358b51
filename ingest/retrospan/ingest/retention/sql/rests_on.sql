-- title: what some runs say they rest on, as stated or matched by id
-- params: tenant String, run_ids Array(String)
-- returns: object String
SELECT DISTINCT object
FROM
(
    SELECT object
    FROM canon_edges
    WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)} AND evidence IN ('stated', 'matched')
    UNION ALL
    SELECT concat('message:', hash) AS object
    FROM canon_values
    WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)} AND kind = 'message'
)
ORDER BY object
