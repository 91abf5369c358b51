-- title: tokens of the context window in use, as the program says
ALTER TABLE canon_model_calls ADD COLUMN IF NOT EXISTS context_tokens Nullable(UInt64)
