-- title: name and version of the schema of the state around a step
ALTER TABLE canon_steps ADD COLUMN IF NOT EXISTS state_schema Nullable(String)
