-- title: how many spans of a trace came when, by dialect: what counts over all spans and their readings is counted once
-- Of each: the arrival in Unix nanoseconds, the dialect, the spans, and how many of these are in no run.
ALTER TABLE canon_traces
    ADD COLUMN IF NOT EXISTS arrivals Array(Tuple(Int64, String, UInt32, UInt32)) CODEC(ZSTD(1))
