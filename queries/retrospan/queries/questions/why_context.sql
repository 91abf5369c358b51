-- title: Where a run lost context, or came near its limit
-- params: run_id String, rows UInt32
-- returns: one row per model call that lost messages, was given a shortened prompt, or nine tenths of what the model takes
SELECT
    run_id,
    model_call,
    context_limit,
    input_tokens,
    messages_in,
    messages_lost,
    lost_how,
    goes_on,
    compaction,
    tokens_before,
    tokens_after
FROM context_use
WHERE run_id = {run_id:String}
    AND (messages_lost > 0 OR compacted OR input_tokens >= 0.9 * context_limit)
ORDER BY model_call
LIMIT {rows:UInt32}
