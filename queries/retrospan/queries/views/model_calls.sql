-- title: model calls, one row per request to a model, with the whole request and answer
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   ordinal UInt32: number of the model call in its run, from 1
--   step UInt32: its step in the run
--   span_id String: span that describes the request
--   agent_name Nullable(String): agent that asked
--   provider Nullable(String): provider of the model
--   request_model Nullable(String): model asked for
--   response_model Nullable(String): model that answered
--   parameters String: JSON object of the request's parameters (temperature, ...)
--   system_instructions Nullable(String): JSON array of parts; NULL if there are none
--   input_messages Nullable(String): JSON array, the full list the model read; NULL if not known
--   output_messages Nullable(String): JSON array of the answer's messages; NULL if no answer is recorded
--   tool_definitions Nullable(String): JSON array of the tools offered; NULL if there are none
--   finish_reasons Array(String): why the model stopped
--   input_tokens Nullable(UInt64): tokens of the request, cached ones included
--   output_tokens Nullable(UInt64): tokens of the answer
--   cached_tokens Nullable(UInt64): tokens of the request that came from a cache
--   reasoning_tokens Nullable(UInt64): tokens of the answer that were reasoning
--   started_at DateTime64(9, 'UTC'): start by the producer's clock
--   duration_ms Nullable(Float64): milliseconds until the answer was complete
--   status LowCardinality(String): ok, error or incomplete (it has begun, and nothing says that it ended)
--   error_type Nullable(String): class of the error
--   error_message Nullable(String): text of the error
--   call_hash String: comparison hash of request and answer
--   input_hash String: comparison hash of the input messages
--   output_hash String: comparison hash of the output messages
--   trace_id String: trace of the span
--   history LowCardinality(String): how the input is known: full, rebuilt (from earlier calls), inferred (from the previous run), none
--   cache_write_tokens Nullable(UInt64): tokens of the request that were written to a cache
--   token_buckets Nullable(String): JSON object of counts that do not overlap (input, cache_read, output, reasoning, ...); NULL if not known
--   time_to_first_chunk_ms Nullable(Float64): milliseconds until the answer began, where it was streamed
--   prompt_name Nullable(String): prompt template that the request was made from
--   prompt_version Nullable(String): version of that template
--   cost Nullable(Decimal(38, 12)): what it cost by the prices that were in force; NULL if not known
--   currency LowCardinality(Nullable(String)): currency of that cost
--   cost_unknown LowCardinality(Nullable(String)): why the cost is not known; NULL if it is
--   price_list LowCardinality(Nullable(String)): name of the price table and a part of its hash; NULL without a cost
--   stated_cost Nullable(Decimal(38, 12)): what the instrumentation says that it cost, as it says it
--   stated_currency LowCardinality(Nullable(String)): the currency of that, as it says or its authors define
-- example: SELECT run_id, ordinal, request_model, input_tokens, output_tokens FROM model_calls ORDER BY started_at DESC LIMIT 20
-- example: SELECT ordinal, input_messages, output_messages FROM model_calls WHERE run_id = {run_id:String} ORDER BY ordinal
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    c.ordinal AS ordinal,
    c.step AS step,
    c.span_id AS span_id,
    c.agent_name AS agent_name,
    c.provider AS provider,
    c.request_model AS request_model,
    c.response_model AS response_model,
    c.parameters AS parameters,
    -- A value is its JSON, or the JSON of its elements in brackets.
    multiIf(
        c.system_value = 0,
        NULL,
        empty(v.elements[c.system_value]),
        v.jsons[c.system_value],
        concat('[', arrayStringConcat(arrayMap(e -> v.jsons[e], v.elements[c.system_value]), ','), ']')
    ) AS system_instructions,
    if(
        empty(c.input_values) AND c.history = 'none',
        NULL,
        concat('[', arrayStringConcat(arrayMap(n -> v.jsons[n], c.input_values), ','), ']')
    ) AS input_messages,
    if(
        empty(c.output_values),
        NULL,
        concat('[', arrayStringConcat(arrayMap(n -> v.jsons[n], c.output_values), ','), ']')
    ) AS output_messages,
    multiIf(
        c.tools_value = 0,
        NULL,
        empty(v.elements[c.tools_value]),
        v.jsons[c.tools_value],
        concat('[', arrayStringConcat(arrayMap(e -> v.jsons[e], v.elements[c.tools_value]), ','), ']')
    ) AS tool_definitions,
    CAST(c.finish_reasons, 'Array(String)') AS finish_reasons,
    c.input_tokens AS input_tokens,
    c.output_tokens AS output_tokens,
    c.cached_tokens AS cached_tokens,
    c.reasoning_tokens AS reasoning_tokens,
    c.started_at AS started_at,
    c.duration_ms AS duration_ms,
    c.status AS status,
    c.error_type AS error_type,
    c.error_message AS error_message,
    c.call_hash AS call_hash,
    c.input_hash AS input_hash,
    c.output_hash AS output_hash,
    c.trace_id AS trace_id,
    c.history AS history,
    c.cache_write_tokens AS cache_write_tokens,
    c.token_buckets AS token_buckets,
    c.time_to_first_chunk_ms AS time_to_first_chunk_ms,
    c.prompt_name AS prompt_name,
    c.prompt_version AS prompt_version,
    c.cost AS cost,
    c.currency AS currency,
    c.cost_unknown AS cost_unknown,
    c.price_list AS price_list,
    c.stated_cost AS stated_cost,
    c.stated_currency AS stated_currency
FROM
(
    -- A run's values as two arrays, so that value n is element n. Queries that ask for no payload read no JSON here.
    -- They stand on the left, for there the engine keeps one copy of them for all calls of the run, and on the right one each.
    SELECT
        tenant,
        run_id,
        generation,
        arraySort(
            x -> x.1,
            groupArray((number, if(kind = 'list' AND empty(canon_values.elements), '[]', json)))
        ).2 AS jsons,
        arraySort(x -> x.1, groupArray((number, canon_values.elements))).2 AS elements
    FROM canon_values
    GROUP BY tenant, run_id, generation
) AS v
RIGHT JOIN
(
    SELECT c.*
    FROM canon_model_calls AS c
    INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
        USING (tenant, run_id, generation)
) AS c ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation
SETTINGS join_use_nulls = 0
