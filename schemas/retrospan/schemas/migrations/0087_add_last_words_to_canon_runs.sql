-- title: whether a run has ended, which process it ran in, when it last said anything, and where it was forked
ALTER TABLE canon_runs
    ADD COLUMN IF NOT EXISTS process_id String,
    ADD COLUMN IF NOT EXISTS is_open Bool,
    ADD COLUMN IF NOT EXISTS last_said_at DateTime64(9, 'UTC'),
    ADD COLUMN IF NOT EXISTS fork_step Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS patch Nullable(String)
