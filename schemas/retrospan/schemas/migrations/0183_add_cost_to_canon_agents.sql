-- title: what an agent's own model calls cost
ALTER TABLE canon_agents
    ADD COLUMN IF NOT EXISTS cost Nullable(Decimal(38, 12)),
    ADD COLUMN IF NOT EXISTS currency LowCardinality(Nullable(String)),
    ADD COLUMN IF NOT EXISTS cost_unknown LowCardinality(Nullable(String))
