-- title: later runs of a conversation that lean on the run before them: by their history, or because they resume it
-- params: tenant String, conversation String, after Int64 (Unix ns)
-- returns: run_id, trace_ids, history_run_id
SELECT
    run_id,
    trace_ids,
    history_run_id
FROM canon_runs
FINAL
WHERE tenant = {tenant:String}
    AND conversation_id = {conversation:String}
    AND NOT deleted
    AND (history_run_id IS NOT NULL OR parent_link = 'resumes')
    AND started_at > fromUnixTimestamp64Nano({after:Int64}, 'UTC')
ORDER BY run_id
