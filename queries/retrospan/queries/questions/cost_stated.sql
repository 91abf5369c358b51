-- title: The cost of a run, and what its instrumentation says it cost
-- params: run_id String
-- returns: one row: run_id, cost, currency, cost_unknown, model_calls, stated_calls, stated (sums that are said)
SELECT
    r.run_id AS run_id,
    r.cost AS cost,
    r.currency AS currency,
    r.cost_unknown AS cost_unknown,
    r.model_calls AS model_calls,
    ifNull(s.stated_calls, 0) AS stated_calls,
    s.stated AS stated
FROM
(
    SELECT run_id, cost, currency, cost_unknown, model_calls
    FROM runs
    WHERE run_id = {run_id:String}
) AS r
CROSS JOIN
(
    SELECT
        sum(calls) AS stated_calls,
        groupArray(concat(toString(amount), ' ', coin)) AS stated
    FROM
    (
        SELECT
            ifNull(toString(stated_currency), '') AS coin,
            sum(stated_cost) AS amount,
            count() AS calls
        FROM model_calls
        WHERE run_id = {run_id:String}
            AND isNotNull(stated_cost)
        GROUP BY coin
        ORDER BY coin
    )
) AS s
