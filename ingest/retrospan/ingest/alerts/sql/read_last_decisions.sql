-- title: when each rule was last decided to tell, in Unix milliseconds
-- params: none
-- returns: rule, decided_at
SELECT
    rule,
    toUnixTimestamp64Milli(max(at)) AS decided_at
FROM alert_events
WHERE event = 'decided'
GROUP BY rule
