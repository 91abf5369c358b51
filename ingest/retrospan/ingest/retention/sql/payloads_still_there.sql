-- title: how many spans there are whose payloads, receipts of the last week say, are gone
-- params: kept Array(String) (keys), mark String (value of retrospan.redacted on what is bare)
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
    WHERE what = 'payloads' AND deleted_at > now() - INTERVAL 7 DAY
    GROUP BY tenant, trace_id
) AS r ON r.tenant = s.tenant AND r.trace_id = s.trace_id
WHERE s.arrived_at <= r.last_arrival
    AND s.trace_id IN
    (
        SELECT arrayJoin(trace_ids)
        FROM receipts
        WHERE what = 'payloads' AND deleted_at > now() - INTERVAL 7 DAY
    )
    AND NOT (
        retrospan_has_only_kept(s.attributes, {kept:Array(String)}, {mark:String})
        AND s.status_message = ''
        AND arrayAll(e -> arrayAll(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(e, 3)), s.events)
        AND arrayAll(l -> arrayAll(a -> has({kept:Array(String)}, tupleElement(a, 1)), tupleElement(l, 5)), s.links)
    )
