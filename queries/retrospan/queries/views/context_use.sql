-- title: context use, one row per model call: what its prompt holds, and what was lost since the previous call
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   model_call UInt32: ordinal of the model call
--   context_limit Nullable(UInt64): size of the model's context in tokens, if the program states it
--   input_tokens Nullable(UInt64): tokens of the request, cached ones included
--   messages_in Nullable(UInt64): messages that the call read
--   messages_new Nullable(UInt64): of these, messages that the previous call in the same context did not read
--   messages_lost Nullable(UInt64): messages that the previous call read and this one does not; NULL if not known
--   lost_how LowCardinality(Nullable(String)): dropped, summarised or truncated; NULL if nothing is known to be lost
--   goes_on Nullable(UInt32): ordinal of that previous call; NULL if there is none
--   lost_messages Array(String): comparison hashes of the lost messages
--   agent_name Nullable(String): agent that asked
--   context_tokens Nullable(UInt64): tokens of the context in use, if the program states it
--   compaction LowCardinality(Nullable(String)): summary, edit or trim: how the program says it shortened the context for this call
--   tokens_before Nullable(UInt64): tokens before that
--   tokens_after Nullable(UInt64): tokens after it
--   compacted Bool: the program says that it shortened the context for this call, or OpenTelemetry's flag on it does
--   step UInt32: the call's step in the run
--   at DateTime64(9, 'UTC'): when the call began
-- note: compared by the hashes of messages. `messages` shows what a hash stands for; `semantics.md` defines the terms.
-- example: SELECT model_call, messages_in, messages_new, messages_lost, lost_how FROM context_use WHERE run_id = {run_id:String} ORDER BY model_call
-- example: SELECT run_id, model_call, lost_how FROM context_use WHERE messages_lost > 0 LIMIT 20
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    c.ordinal AS model_call,
    c.context_limit AS context_limit,
    c.input_tokens AS input_tokens,
    CAST(
        if(empty(c.input_values) AND c.history = 'none', NULL, length(c.input_values)),
        'Nullable(UInt64)'
    ) AS messages_in,
    c.messages_new AS messages_new,
    c.messages_lost AS messages_lost,
    c.lost_how AS lost_how,
    nullIf(c.goes_on, 0) AS goes_on,
    c.lost_hashes AS lost_messages,
    c.agent_name AS agent_name,
    c.context_tokens AS context_tokens,
    CAST(m.latest.1, 'LowCardinality(Nullable(String))') AS compaction,
    m.latest.2 AS tokens_before,
    m.latest.3 AS tokens_after,
    CAST(m.model_call != 0, 'Bool') AS compacted,
    c.step AS step,
    c.started_at AS at
FROM canon_model_calls AS c
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
LEFT JOIN
(
    SELECT
        tenant,
        run_id,
        generation,
        model_call,
        argMax((kind, tokens_before, tokens_after), (at, span_id)) AS latest
    FROM canon_compactions
    WHERE model_call != 0
    GROUP BY tenant, run_id, generation, model_call
) AS m ON m.tenant = c.tenant AND m.run_id = c.run_id AND m.generation = c.generation AND m.model_call = c.ordinal
SETTINGS join_use_nulls = 0
