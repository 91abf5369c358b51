-- title: what the model call of a step cost
ALTER TABLE canon_steps
    ADD COLUMN IF NOT EXISTS cost Nullable(Decimal(38, 12)),
    ADD COLUMN IF NOT EXISTS currency LowCardinality(Nullable(String))
