-- title: unnests the rejects of each log record into raw_rejects
CREATE MATERIALIZED VIEW IF NOT EXISTS raw_rejects_from_landing TO raw_rejects AS
SELECT
    tenant,
    sequence,
    position,
    arrived_at,
    reject.signal AS signal,
    reject.spans AS spans,
    reject.reason AS reason,
    lower(hex(reject.request_hash)) AS request_hash,
    reject.sample AS sample
FROM
(
    SELECT
        tenant,
        sequence,
        fromUnixTimestamp64Nano(toInt64(arrived_at), 'UTC') AS arrived_at,
        numbered.1 AS position,
        numbered.2 AS reject
    FROM
    (
        SELECT
            tenant,
            bitShiftLeft(log, 40) + sequence AS sequence,
            arrived_at,
            arrayJoin(arrayZip(arrayEnumerate(rejects), rejects)) AS numbered
        FROM landing
    )
)
