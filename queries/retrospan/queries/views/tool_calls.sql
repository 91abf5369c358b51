-- title: tool calls, one row per execution, or per requested call that never ran
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   ordinal UInt32: number of the tool call in its run, from 1
--   step Nullable(UInt32): its step in the run; NULL if nothing was executed
--   span_id Nullable(String): span that describes the execution
--   asked_by Nullable(UInt32): ordinal of the model call that asked for it
--   agent_name Nullable(String): agent that called
--   tool_name String: the tool; '' where nothing says which
--   tool_call_id Nullable(String): id the model gave the call
--   arguments Nullable(String): JSON of the arguments
--   result Nullable(String): what the tool returned, JSON or text
--   result_source Nullable(String): where the result was read: span or message
--   arguments_hash Nullable(String): comparison hash of the arguments
--   result_hash Nullable(String): comparison hash of the result
--   effect Nullable(String): what the tool does to the world: none, read, write, destructive
--   idempotency_key Nullable(String): key that makes repeats recognisable
--   attempt Nullable(UInt32): which attempt it was, from 1
--   started_at Nullable(DateTime64(9, 'UTC')): start by the producer's clock
--   duration_ms Nullable(Float64): milliseconds it took
--   status LowCardinality(String): ok, error, incomplete (may have happened), not_executed (a later prompt repeats the call without a result, the agent returned the call itself, or its span says that it was refused) or unknown (undetermined)
--   error_type Nullable(String): class of the error
--   error_message Nullable(String): text of the error
--   trace_id Nullable(String): trace of the span
-- example: SELECT tool_name, status, count() AS calls, avg(duration_ms) AS mean_ms FROM tool_calls GROUP BY tool_name, status ORDER BY calls DESC
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    c.ordinal AS ordinal,
    c.step AS step,
    c.span_id AS span_id,
    c.asked_by AS asked_by,
    c.agent_name AS agent_name,
    c.tool_name AS tool_name,
    c.tool_call_id AS tool_call_id,
    c.arguments AS arguments,
    c.result AS result,
    c.result_source AS result_source,
    c.arguments_hash AS arguments_hash,
    c.result_hash AS result_hash,
    c.effect AS effect,
    c.idempotency_key AS idempotency_key,
    c.attempt AS attempt,
    c.started_at AS started_at,
    c.duration_ms AS duration_ms,
    c.status AS status,
    c.error_type AS error_type,
    c.error_message AS error_message,
    c.trace_id AS trace_id
FROM canon_tool_calls AS c
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
