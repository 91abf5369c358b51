-- title: One metric of runs over time, in stretches of so many seconds
-- params: metric String, from String, to String, agent String ('' = open, any), seconds UInt32
-- returns: one row per stretch that has runs: how many have the metric, its sum and that of its logarithms, and the run with most
-- A metric that counts runs is 1 for a run that it counts, and has no logarithm: its sum stands for that.
SELECT
    CAST(toStartOfInterval(started_at, toIntervalSecond({seconds:UInt32}), 'UTC'), 'DateTime64(9, \'UTC\')') AS at,
    count(amount) AS runs,
    sum(amount) AS total,
    sum(if(endsWith({metric:String}, '_rate'), amount, log(1 + greatest(amount, 0)))) AS scaled,
    argMax(run_id, (amount, -toUnixTimestamp64Nano(started_at))) AS shown_by
FROM
(
    SELECT
        run_id,
        started_at,
        multiIf(
            {metric:String} = 'failure_rate', toNullable(toFloat64(outcome = 'error')),
            {metric:String} = 'incomplete_rate', toFloat64(outcome IN ('incomplete', 'killed', 'lost')),
            {metric:String} = 'loop_rate', toFloat64((tenant, run_id) IN (SELECT tenant, run_id FROM loops)),
            {metric:String} = 'steps_per_run', toFloat64(steps),
            {metric:String} = 'input_tokens', toFloat64(input_tokens),
            {metric:String} = 'output_tokens', toFloat64(output_tokens),
            {metric:String} = 'duration_ms', duration_ms,
            NULL
        ) AS amount
    FROM runs
    WHERE outcome != 'running'
        AND run_kind != 'demo'
        AND ({agent:String} = '' OR agent_name = {agent:String})
        AND ({from:String} = '' OR started_at >= parseDateTime64BestEffortOrNull({from:String}, 9, 'UTC'))
        AND ({to:String} = '' OR started_at < parseDateTime64BestEffortOrNull({to:String}, 9, 'UTC'))
)
WHERE isNotNull(amount)
GROUP BY at
ORDER BY at
