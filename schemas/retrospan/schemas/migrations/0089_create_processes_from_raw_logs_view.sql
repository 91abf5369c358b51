-- title: notes which processes said that they are at work, and of which it is said that they ended without a word
-- Rows that come again change nothing: each column is the greatest of its values.
CREATE MATERIALIZED VIEW IF NOT EXISTS processes_from_raw_logs TO processes AS
SELECT
    tenant,
    process_id,
    max(toInt64OrZero(texts['process.pid'])) AS pid,
    maxIf(arrived_at, event_name = 'retrospan.alive') AS last_alive_at,
    max(toFloat64OrZero(texts['retrospan.alive.interval_seconds'])) AS interval_seconds,
    maxIf(arrived_at, event_name = 'retrospan.killed') AS killed_at
FROM
(
    SELECT
        tenant,
        event_name,
        arrived_at,
        CAST(arrayMap(a -> tuple(toString(tupleElement(a, 'key')), tupleElement(a, 'value')), attributes), 'Map(String, String)') AS texts,
        lower(texts['retrospan.process.id']) AS process_id
    FROM raw_logs
    WHERE event_name IN ('retrospan.alive', 'retrospan.killed')
)
WHERE process_id != ''
GROUP BY
    tenant,
    process_id
