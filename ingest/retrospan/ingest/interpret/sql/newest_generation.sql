-- title: the newest generation of any run or trace
-- params: none
-- returns: generation
SELECT greatest((SELECT max(generation) FROM canon_runs), (SELECT max(generation) FROM canon_traces)) AS generation
