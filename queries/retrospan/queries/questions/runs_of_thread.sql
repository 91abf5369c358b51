-- title: The runs of a conversation, or one run
-- params: run_id String, thread String (one of them is '')
-- returns: one row per run, in the order in which they began
SELECT run_id, conversation_id, outcome
FROM runs
WHERE if({run_id:String} != '', run_id = {run_id:String}, conversation_id = {thread:String})
ORDER BY started_at, run_id
