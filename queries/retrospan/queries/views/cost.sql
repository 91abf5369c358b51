-- title: cost, one row per kind of tokens of a model call: what it cost by the prices that were in force
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   model_call Nullable(UInt32): ordinal of the model call; NULL for the tokens of a whole run, where no call says its own
--   step Nullable(UInt32): its step in the run
--   agent_name LowCardinality(Nullable(String)): agent that asked
--   tool_name LowCardinality(Nullable(String)): the tool in whose call the model was asked; NULL outside of any
--   bucket LowCardinality(Nullable(String)): kind of tokens, as in `model_calls.token_buckets`; NULL if the tokens are not known
--   tokens Nullable(UInt64): how many; NULL if not known
--   price Nullable(Decimal(38, 6)): of a million of them; NULL if there is none
--   currency LowCardinality(Nullable(String)): currency of price and amount, as ISO 4217 calls it
--   price_list LowCardinality(Nullable(String)): name of the price table and a part of its hash
--   amount Nullable(Decimal(38, 12)): tokens times price, exact; NULL if there is no price
--   at DateTime64(9, 'UTC'): start of the call by the producer's clock
--   provider LowCardinality(Nullable(String)): provider of the model
--   model LowCardinality(Nullable(String)): model that answered, or else that was asked for
--   unknown LowCardinality(Nullable(String)): why there is no amount; NULL if there is one
--   wasted LowCardinality(Nullable(String)): retry (the request failed and was repeated, or asked for nothing but another try of a tool) or loop (it asked for nothing but repeated calls); NULL otherwise
--   agent_version Nullable(String): version of the run's agent
--   service_name Nullable(String): OTel service that sent the run
--   service_version Nullable(String): version of that service
--   run_kind LowCardinality(String): kind of the run
-- note: each model call counts once. One that failed and says no tokens is in no row. The page on cost in the documentation defines the terms.
-- example: SELECT bucket, tokens, price, amount, unknown FROM cost WHERE run_id = {run_id:String} ORDER BY model_call, bucket
-- example: SELECT toDate32(at) AS day, model, currency, sum(amount) AS cost, countIf(isNull(amount)) AS unpriced FROM cost GROUP BY ALL ORDER BY day
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    nullIf(c.model_call, 0) AS model_call,
    c.step AS step,
    c.agent_name AS agent_name,
    c.tool_name AS tool_name,
    c.bucket AS bucket,
    c.tokens AS tokens,
    c.price AS price,
    c.currency AS currency,
    c.price_list AS price_list,
    c.amount AS amount,
    c.at AS at,
    c.provider AS provider,
    c.model AS model,
    c.unknown AS unknown,
    c.wasted AS wasted,
    p.agent_version AS agent_version,
    p.service_name AS service_name,
    p.service_version AS service_version,
    p.run_kind AS run_kind
FROM canon_costs AS c
INNER JOIN
(
    SELECT tenant, run_id, generation, agent_version, service_name, service_version, run_kind
    FROM canon_runs FINAL
    WHERE NOT deleted
) AS p
    USING (tenant, run_id, generation)
