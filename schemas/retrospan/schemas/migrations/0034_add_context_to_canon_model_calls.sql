-- title: what each call's prompt lost and gained against the call before it in its context
ALTER TABLE canon_model_calls
    ADD COLUMN IF NOT EXISTS context_limit Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS goes_on UInt32,
    ADD COLUMN IF NOT EXISTS messages_new Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS messages_lost Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS lost_hashes Array(String),
    ADD COLUMN IF NOT EXISTS lost_how LowCardinality(Nullable(String))
