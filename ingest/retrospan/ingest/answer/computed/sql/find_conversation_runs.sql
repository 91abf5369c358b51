-- title: the runs of some conversations
-- params: conversations Array(String)
-- returns: conversation_id, run_id, generation, started_at
SELECT conversation_id, run_id, generation, toString(started_at) AS began_at
FROM canon_runs FINAL
WHERE conversation_id IN {conversations:Array(String)} AND NOT deleted
