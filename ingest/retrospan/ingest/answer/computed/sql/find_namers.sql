-- title: the runs that name some things, on one side of an edge
-- params: references Array(String), side String, most UInt32 (runs of each thing)
-- returns: reference, run_id
SELECT DISTINCT reference, run_id
FROM canon_crossings
WHERE reference IN {references:Array(String)} AND side = {side:String}
ORDER BY reference, run_id
LIMIT {most:UInt32} BY reference
