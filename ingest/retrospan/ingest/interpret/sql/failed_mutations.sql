-- title: of some tables, those in which the engine cannot carry out a deletion or an alteration that it took
-- params: database String, tables Array(String)
-- returns: table String, reason String (of one of them)
SELECT
    table,
    any(latest_fail_reason) AS reason
FROM system.mutations
WHERE database = {database:String}
    AND table IN {tables:Array(String)}
    AND NOT is_done
    AND latest_fail_reason != ''
GROUP BY table
ORDER BY table
