-- title: times and names of canonical steps are compressed better; it holds for what is written from now on and for what is merged
ALTER TABLE canon_steps
    MODIFY COLUMN name CODEC(ZSTD(1)),
    MODIFY COLUMN started_at CODEC(ZSTD(1)),
    MODIFY COLUMN ended_at CODEC(ZSTD(1)),
    MODIFY COLUMN duration_ms CODEC(ZSTD(1))
