-- title: Where a run lost context, or came near its limit
-- params: run_id String, rows UInt32
-- returns: one row per model call that lost messages, was given a shortened prompt, or nine tenths of what the model takes
SELECT
    c.run_id AS run_id,
    c.model_call AS model_call,
    m.step AS step,
    c.context_limit AS context_limit,
    c.input_tokens AS input_tokens,
    c.messages_in AS messages_in,
    c.messages_lost AS messages_lost,
    c.lost_how AS lost_how,
    c.goes_on AS goes_on,
    c.compaction AS compaction,
    c.tokens_before AS tokens_before,
    c.tokens_after AS tokens_after
FROM context_use AS c
INNER JOIN
(
    SELECT ordinal, step
    FROM model_calls
    WHERE run_id = {run_id:String}
) AS m ON m.ordinal = c.model_call
WHERE c.run_id = {run_id:String}
    AND (c.messages_lost > 0 OR c.compacted OR c.input_tokens >= 0.9 * c.context_limit)
ORDER BY model_call
LIMIT {rows:UInt32}
