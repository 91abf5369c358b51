-- title: hashes of the answers that the requests of a trace gave, and of those that a transcript in it retells
ALTER TABLE canon_traces
    ADD COLUMN IF NOT EXISTS answers Array(String),
    ADD COLUMN IF NOT EXISTS retold Array(String)
