-- title: rejects, what was refused, or removed from a request before it was stored
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   arrived_at DateTime64(9, 'UTC'): when the request arrived
--   signal LowCardinality(String): traces or logs
--   spans UInt32: how many spans or log records were lost with it
--   reason String: why
--   request_hash String: SHA-256 of the request, lower hex
--   sample String: first bytes; non-printable characters, non-ASCII characters and backslashes are written \xNN
-- example: SELECT arrived_at, signal, reason, sample FROM rejects ORDER BY arrived_at DESC LIMIT 20
SELECT
    r.tenant AS tenant,
    r.arrived_at AS arrived_at,
    r.signal AS signal,
    r.spans AS spans,
    r.reason AS reason,
    r.request_hash AS request_hash,
    arrayStringConcat(
        arrayMap(
            c -> if(match(c, '^[ -\\[\\]-~]$'), c, concat('\\x', lower(hex(c)))),
            arrayMap(i -> substring(r.sample, i, 1), range(1, length(r.sample) + 1))
        )
    ) AS sample
FROM raw_rejects AS r FINAL
SETTINGS do_not_merge_across_partitions_select_final = 0
