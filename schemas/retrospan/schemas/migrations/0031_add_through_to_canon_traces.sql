-- title: the newest record of each log that a reading of the trace has seen
ALTER TABLE canon_traces ADD COLUMN IF NOT EXISTS through Array(UInt64)
