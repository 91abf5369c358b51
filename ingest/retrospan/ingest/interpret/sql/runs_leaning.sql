-- title: runs of some conversations that lean on the run before them: by their history, or because they resume it
-- params: tenant String, conversations Array(String)
-- returns: run_id, trace_ids, conversation_id, started_at Int64 (Unix ns)
-- Which runs may be meant the index says, and only of these the newest row counts: with FINAL alone all would be read.
SELECT
    run_id,
    trace_ids,
    conversation_id,
    toUnixTimestamp64Nano(started_at)
FROM canon_runs
FINAL
WHERE tenant = {tenant:String}
    AND conversation_id IN {conversations:Array(String)}
    AND run_id IN
    (
        SELECT run_id
        FROM canon_runs
        WHERE tenant = {tenant:String}
            AND conversation_id IN {conversations:Array(String)}
            AND (history_run_id IS NOT NULL OR parent_link = 'resumes')
    )
    AND NOT deleted
    AND (history_run_id IS NOT NULL OR parent_link = 'resumes')
ORDER BY run_id
