-- title: retention_log, one receipt for each deletion, chained by hash
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of what was deleted
--   log UInt32: number of the log that holds the receipt, 0 in an embedded warehouse
--   number UInt64: place in the chain, from 1
--   what LowCardinality(String): run, trace (one without a run), payloads (of a run or trace that stays) or segment (a file of the log's archive)
--   subject String: run id, trace id or name of the segment
--   run_class LowCardinality(String): class by which it was due; '' for a segment
--   rule String: rule of the policy, with its age
--   deleted_at DateTime64(9, 'UTC'): when
--   by String: who asked for it
--   last_arrival DateTime64(9, 'UTC'): last arrival of what was deleted; later arrivals were kept
--   trace_ids Array(String): deleted traces
--   first_records Array(UInt64): first record of each range of the log that held it
--   last_records Array(UInt64): last record of each of these ranges
--   spans UInt64: spans deleted, or left without payload
--   log_records UInt64: log records deleted, or left without payload
--   arrivals UInt64: notes of arrival deleted
--   rows UInt64: rows of all tables deleted, derived ones included
--   bytes UInt64: uncompressed size of the spans and log records; for a segment, by how much its file shrank
--   content_hash String: SHA-256 of the deleted content
--   hash_after String: SHA-256 of the segment's remaining content; '' if nothing is left
--   previous_hash String: receipt_hash of the previous receipt, '' for the first
--   receipt_hash String: SHA-256 over all preceding columns
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
