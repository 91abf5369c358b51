-- title: how many rows there are that receipts of the last week say are gone
-- params: none
-- returns: number UInt64
SELECT count() AS number
FROM raw_spans AS s
INNER JOIN
(
    SELECT
        tenant,
        arrayJoin(trace_ids) AS trace_id,
        max(last_arrival) AS last_arrival
    FROM receipts
    WHERE what IN ('run', 'trace') AND deleted_at > now() - INTERVAL 7 DAY
    GROUP BY tenant, trace_id
) AS r ON r.tenant = s.tenant AND r.trace_id = s.trace_id
WHERE s.arrived_at <= r.last_arrival
