-- title: number of rows in canon_problems of the run
ALTER TABLE canon_runs ADD COLUMN IF NOT EXISTS problems UInt32
