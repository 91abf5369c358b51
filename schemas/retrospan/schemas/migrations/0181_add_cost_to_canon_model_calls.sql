-- title: what a model call cost, by the prices that were in force, and what it is said to have cost
ALTER TABLE canon_model_calls
    ADD COLUMN IF NOT EXISTS cost Nullable(Decimal(38, 12)),
    ADD COLUMN IF NOT EXISTS currency LowCardinality(Nullable(String)),
    ADD COLUMN IF NOT EXISTS cost_unknown LowCardinality(Nullable(String)),
    ADD COLUMN IF NOT EXISTS price_list LowCardinality(Nullable(String)),
    ADD COLUMN IF NOT EXISTS stated_cost Nullable(Decimal(38, 12)),
    ADD COLUMN IF NOT EXISTS stated_currency LowCardinality(Nullable(String))
