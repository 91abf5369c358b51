-- title: the latest run of a conversation before a time, with what it had come to
-- params: tenant String, conversation String, before Int64 (Unix ns), run_id String (the run that asks),
--   kept_only UInt8 (1: among those whose API keeps the history)
-- returns: run_id, started_at (Unix ns), generation, final_history
-- Which runs are meant the index says, and only of these the newest row counts: with FINAL alone all would be read.
SELECT
    run_id,
    toUnixTimestamp64Nano(started_at) AS began,
    generation,
    final_history
FROM canon_runs
FINAL
WHERE tenant = {tenant:String}
    AND conversation_id = {conversation:String}
    AND run_id IN
    (
        SELECT run_id
        FROM canon_runs
        WHERE tenant = {tenant:String} AND conversation_id = {conversation:String}
    )
    AND run_id != {run_id:String}
    AND NOT deleted
    AND ({kept_only:UInt8} = 0 OR history_run_id IS NOT NULL)
    AND started_at < fromUnixTimestamp64Nano({before:Int64}, 'UTC')
ORDER BY
    began DESC,
    run_id DESC
LIMIT 1
