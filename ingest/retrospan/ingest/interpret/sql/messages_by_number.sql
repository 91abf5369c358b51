-- title: some messages of one generation of a run
-- params: tenant String, run_id String, generation UInt64, numbers Array(UInt32)
-- returns: number, json
SELECT
    number,
    json
FROM canon_values
WHERE tenant = {tenant:String}
    AND run_id = {run_id:String}
    AND generation = {generation:UInt64}
    AND number IN {numbers:Array(UInt32)}
ORDER BY number
