-- title: what a retrieval or a search in memory looked for, and where
ALTER TABLE canon_steps
    ADD COLUMN IF NOT EXISTS query Nullable(String) CODEC(ZSTD(3)),
    ADD COLUMN IF NOT EXISTS data_source Nullable(String)
