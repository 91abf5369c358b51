-- title: what interpreters said of parts within the last while
-- params: milliseconds UInt64
-- returns: part, holder, state
SELECT
    part,
    holder,
    state
FROM leases
FINAL
WHERE written_at > now64(3, 'UTC') - toIntervalMillisecond({milliseconds:UInt64})
ORDER BY
    part,
    holder
