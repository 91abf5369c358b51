-- title: the newest alerts of each rule, with what became of each target; times in Unix milliseconds
-- params: rows UInt64 (alerts of a rule, each with all of its targets)
-- returns: rule, alert_id, target, decided_at, matched, begun, outcome, ended_at, reason
SELECT
    named,
    alert_id,
    target,
    decided_at,
    rows_matched,
    begun,
    outcome,
    ended_at,
    last_reason
FROM
(
    SELECT
        any(rule) AS named,
        alert_id,
        target,
        toUnixTimestamp64Milli(minIf(at, event = 'decided')) AS decided_at,
        anyIf(matched, event = 'decided') AS rows_matched,
        countIf(event = 'begun') AS begun,
        multiIf(countIf(event = 'sent') > 0, 'sent', countIf(event = 'given_up') > 0, 'given up', 'pending') AS outcome,
        toUnixTimestamp64Milli(max(at)) AS ended_at,
        argMaxIf(reason, at, reason != '') AS last_reason,
        dense_rank() OVER (PARTITION BY named ORDER BY decided_at DESC, alert_id) AS place
    FROM alert_events
    GROUP BY
        alert_id,
        target
    HAVING countIf(event = 'decided') > 0
)
WHERE place <= {rows:UInt64}
ORDER BY
    decided_at DESC,
    alert_id,
    target
