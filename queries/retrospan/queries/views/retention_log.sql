-- title: retention_log, one receipt for each deletion, chained by hash
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of what was deleted
--   log UInt32: number of the log that holds the receipt, 0 in an embedded warehouse
--   number UInt64: place in the chain, from 1
--   what LowCardinality(String): run, trace (one that holds no run), payloads (of either, which stays) or segment (a file of the log's archive)
--   subject String: run id, trace id or name of the segment
--   run_class LowCardinality(String): class by which it was due; '' for a segment
--   rule String: rule of the policy, with its age
--   deleted_at DateTime64(9, 'UTC'): when
--   by String: who asked for it
--   last_arrival DateTime64(9, 'UTC'): last arrival of what was deleted; what came later was kept
--   trace_ids Array(String): traces that went
--   first_records Array(UInt64): where each range of the log's records that held it begins
--   last_records Array(UInt64): where each of these ranges ends
--   spans UInt64: spans deleted, or left without payload
--   log_records UInt64: log records deleted, or left without payload
--   arrivals UInt64: notes of arrival deleted
--   rows UInt64: rows of all tables deleted, derived ones included
--   bytes UInt64: size of the spans and log records, without compression; of a segment, what its file lost
--   content_hash String: SHA-256 of what was there
--   hash_after String: SHA-256 of what a segment holds now; '' when nothing is left of it
--   previous_hash String: receipt_hash of the receipt before, '' for the first
--   receipt_hash String: SHA-256 over all columns before this one
-- note: `retrospan verify` checks the chain.
-- example: SELECT deleted_at, what, subject, rule, spans FROM retention_log ORDER BY log, number DESC LIMIT 20
SELECT
    r.tenant AS tenant,
    r.log AS log,
    r.number AS number,
    r.what AS what,
    r.subject AS subject,
    r.run_class AS run_class,
    r.rule AS rule,
    r.deleted_at AS deleted_at,
    r.by AS by,
    r.last_arrival AS last_arrival,
    r.trace_ids AS trace_ids,
    r.first_records AS first_records,
    r.last_records AS last_records,
    r.spans AS spans,
    r.log_records AS log_records,
    r.arrivals AS arrivals,
    r.rows AS rows,
    r.bytes AS bytes,
    r.content_hash AS content_hash,
    r.hash_after AS hash_after,
    r.previous_hash AS previous_hash,
    r.receipt_hash AS receipt_hash
FROM receipts AS r FINAL
