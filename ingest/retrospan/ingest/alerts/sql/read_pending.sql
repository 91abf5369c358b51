-- title: what was decided since a time and neither told nor given up, oldest first; times in Unix milliseconds
-- params: since Int64
-- returns: alert_id, rule, target, decided_at, since, until, matched, begun, tried_at
SELECT
    alert_id,
    any(rule) AS named,
    target,
    toUnixTimestamp64Milli(minIf(at, event = 'decided')) AS decided_at,
    toUnixTimestamp64Milli(anyIf(since, event = 'decided')) AS window_since,
    toUnixTimestamp64Milli(anyIf(until, event = 'decided')) AS window_until,
    anyIf(matched, event = 'decided') AS rows_matched,
    countIf(event = 'begun') AS begun,
    toUnixTimestamp64Milli(maxIf(at, event = 'begun')) AS tried_at
FROM alert_events
WHERE alert_events.at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
GROUP BY
    alert_id,
    target
HAVING countIf(event IN ('sent', 'given_up')) = 0
    AND countIf(event = 'decided') > 0
ORDER BY
    decided_at,
    alert_id,
    target
