-- title: canonical edges say where in the earlier thing stands what was taken from it
ALTER TABLE canon_edges
    ADD COLUMN IF NOT EXISTS place Nullable(String)
