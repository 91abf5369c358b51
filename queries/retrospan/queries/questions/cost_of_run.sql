-- title: What a run cost, as on an invoice
-- params: run_id String
-- returns: one row per model, kind of tokens and price; `loops` and `retries` are of the amount
SELECT
    c.model AS model,
    c.bucket AS bucket,
    uniqExactIf(c.model_call, isNotNull(c.model_call)) AS model_calls,
    sum(c.tokens) AS tokens,
    c.price AS price,
    c.currency AS currency,
    sum(c.amount) AS amount,
    c.price_list AS price_list,
    c.unknown AS unknown,
    sumIf(c.amount, c.wasted = 'loop') AS loops,
    sumIf(c.amount, c.wasted = 'retry') AS retries
FROM cost AS c
WHERE c.run_id = {run_id:String}
GROUP BY c.model, c.bucket, c.price, c.currency, c.price_list, c.unknown
ORDER BY amount DESC, model, bucket
