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
    -- By the keys of the tables behind the views: of these columns the views change nothing.
    SELECT run_id, cost, currency, cost_unknown, model_calls
    FROM canon_runs FINAL
    WHERE run_id = {run_id:String} AND NOT deleted
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
        FROM canon_model_calls
        WHERE run_id = {run_id:String}
            AND isNotNull(stated_cost)
            AND (tenant, generation) IN
            (
                SELECT tenant, generation
                FROM canon_runs FINAL
                WHERE run_id = {run_id:String} AND NOT deleted
            )
        GROUP BY coin
        ORDER BY coin
    )
) AS s
