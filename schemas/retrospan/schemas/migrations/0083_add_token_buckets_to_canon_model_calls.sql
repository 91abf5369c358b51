-- title: what else a model call took, how soon it began to answer, and the prompt it was made from
ALTER TABLE canon_model_calls
    ADD COLUMN IF NOT EXISTS cache_write_tokens Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS token_buckets Nullable(String),
    ADD COLUMN IF NOT EXISTS time_to_first_chunk_ms Nullable(Float64),
    ADD COLUMN IF NOT EXISTS prompt_name Nullable(String),
    ADD COLUMN IF NOT EXISTS prompt_version Nullable(String)
