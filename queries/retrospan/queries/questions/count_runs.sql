-- title: How many runs there are under the same conditions as list_runs, and at all
-- params: since DateTime64(9, 'UTC'), outcome String ('' = any), agent String ('' = any)
-- returns: one row: matching, total, agents (names of up to 100), newest (start of the newest run)
SELECT
    countIf(
        started_at >= {since:DateTime64(9, 'UTC')}
        AND ({outcome:String} = '' OR outcome = {outcome:String})
        AND ({agent:String} = '' OR ifNull(agent_name, '') = {agent:String})
    ) AS matching,
    count() AS total,
    groupUniqArray(100)(ifNull(agent_name, '')) AS agents,
    maxOrNull(started_at) AS newest
FROM runs
