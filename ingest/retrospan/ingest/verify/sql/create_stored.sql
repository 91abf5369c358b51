-- title: the hashes of rows that are stored, by the record that they come from
-- Below 40 bytes for each row, on disk.
-- params: none
-- returns: nothing
CREATE TABLE stored
(
    source LowCardinality(String),
    sequence UInt64,
    hash UInt128
)
ENGINE = MergeTree
ORDER BY (source, sequence)
