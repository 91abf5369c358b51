-- title: whom a run worked for, the other traces that were joined to it, and why each was
ALTER TABLE canon_runs
    ADD COLUMN IF NOT EXISTS user_id Nullable(String),
    ADD COLUMN IF NOT EXISTS aliases Array(String),
    ADD COLUMN IF NOT EXISTS joined_by Array(LowCardinality(String))
