-- title: what was deleted of records in a range
-- params: first UInt64, last UInt64 (sequences)
-- returns: tenant, trace_id, last_arrival Int64 (Unix ns), deleted_at Int64 (Unix ns), payloads Bool (only they went)
SELECT
    tenant,
    arrayJoin(trace_ids) AS trace_id,
    max(toUnixTimestamp64Nano(last_arrival)) AS last_arrival,
    max(toUnixTimestamp64Nano(deleted_at)) AS newest,
    what = 'payloads' AS payloads
FROM receipts FINAL
WHERE what != 'segment'
    AND arrayExists((a, b) -> a <= {last:UInt64} AND b >= {first:UInt64}, first_records, last_records)
GROUP BY tenant, trace_id, payloads
ORDER BY tenant, trace_id, payloads
