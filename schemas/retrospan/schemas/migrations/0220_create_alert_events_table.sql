-- title: what was decided to tell whom by which alert rule, and what became of it; each row is on disk when written
CREATE TABLE IF NOT EXISTS alert_events
(
    alert_id String,
    rule String,
    target String,
    event LowCardinality(String),
    at DateTime64(3, 'UTC'),
    since DateTime64(3, 'UTC'),
    until DateTime64(3, 'UTC'),
    matched UInt64,
    reason String
)
ENGINE = MergeTree
ORDER BY (rule, at, alert_id)
TTL toDateTime(at) + toIntervalDay(90)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, enable_block_number_column = 1, enable_block_offset_column = 1
