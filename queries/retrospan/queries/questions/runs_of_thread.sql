-- title: The runs of a conversation, or one run
-- params: run_id String, thread String (one of them is '')
-- returns: one row per run, in the order in which they began
SELECT run_id, conversation_id, outcome
FROM runs
-- Not as one `if`: the engine would read every run to find one.
WHERE (run_id = {run_id:String} AND {run_id:String} != '') OR (conversation_id = {thread:String} AND {run_id:String} = '')
ORDER BY started_at, run_id
