-- title: traces that were interpreted once more
-- params: none
-- returns: trace_id
SELECT trace_id
FROM canon_traces
