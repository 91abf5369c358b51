-- title: hashes of the histories that a trace goes on from and ends with, by which traces of one user turn are found
ALTER TABLE canon_traces
    ADD COLUMN IF NOT EXISTS goes_on_from String,
    ADD COLUMN IF NOT EXISTS ends_with String
