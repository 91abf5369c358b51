-- title: which of some runs hold some messages
-- params: run_ids Array(String), hashes Array(String)
-- returns: run_id, generation, hash
SELECT DISTINCT run_id, generation, hash
FROM canon_values
WHERE run_id IN {run_ids:Array(String)} AND hash IN {hashes:Array(String)} AND kind = 'message'
