-- title: how many flags and holds were ever set or taken away
-- params: none
-- returns: number UInt64
SELECT uniqExact(sequence, tenant, run_id, mark) AS number
FROM run_marks
