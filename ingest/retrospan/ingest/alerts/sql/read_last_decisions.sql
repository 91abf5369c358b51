-- title: when each rule was last decided to tell, before a time of its own, in Unix milliseconds
-- params: rules Array(String), before Array(Int64) (Unix milliseconds, by rule)
-- returns: rule, decided_at
SELECT
    rule,
    toUnixTimestamp64Milli(max(at)) AS decided_at
FROM alert_events
WHERE event = 'decided'
    AND toUnixTimestamp64Milli(at) < transform(rule, {rules:Array(String)}, {before:Array(Int64)}, toInt64(0))
GROUP BY rule
