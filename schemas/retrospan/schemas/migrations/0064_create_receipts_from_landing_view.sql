-- title: unnests the receipts of each record of the log into receipts
CREATE MATERIALIZED VIEW IF NOT EXISTS receipts_from_landing TO receipts AS
SELECT
    JSONExtractString(body, 'tenant') AS tenant,
    log,
    JSONExtractUInt(body, 'number') AS number,
    JSONExtractString(body, 'what') AS what,
    JSONExtractString(body, 'subject') AS subject,
    JSONExtractString(body, 'run_class') AS run_class,
    JSONExtractString(body, 'rule') AS rule,
    fromUnixTimestamp64Nano(JSONExtractInt(body, 'deleted_at'), 'UTC') AS deleted_at,
    JSONExtractString(body, 'by') AS by,
    fromUnixTimestamp64Nano(JSONExtractInt(body, 'last_arrival'), 'UTC') AS last_arrival,
    JSONExtract(body, 'trace_ids', 'Array(String)') AS trace_ids,
    JSONExtract(body, 'first_records', 'Array(UInt64)') AS first_records,
    JSONExtract(body, 'last_records', 'Array(UInt64)') AS last_records,
    JSONExtractUInt(body, 'spans') AS spans,
    JSONExtractUInt(body, 'log_records') AS log_records,
    JSONExtractUInt(body, 'arrivals') AS arrivals,
    JSONExtractUInt(body, 'rows') AS rows,
    JSONExtractUInt(body, 'bytes') AS bytes,
    JSONExtractString(body, 'content_hash') AS content_hash,
    JSONExtractString(body, 'hash_after') AS hash_after,
    JSONExtractString(body, 'previous_hash') AS previous_hash,
    JSONExtractString(body, 'receipt_hash') AS receipt_hash
FROM
(
    SELECT
        log,
        tupleElement(note, 'kind') AS kind,
        tupleElement(note, 'body') AS body
    FROM
    (
        SELECT
            log,
            arrayJoin(notes) AS note
        FROM landing
    )
)
WHERE kind = 'receipt'
