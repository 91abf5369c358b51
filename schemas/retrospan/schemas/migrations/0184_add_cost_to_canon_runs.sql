-- title: what the model calls of a run cost
ALTER TABLE canon_runs
    ADD COLUMN IF NOT EXISTS cost Nullable(Decimal(38, 12)),
    ADD COLUMN IF NOT EXISTS currency LowCardinality(Nullable(String)),
    ADD COLUMN IF NOT EXISTS cost_unknown LowCardinality(Nullable(String))
