-- title: what was decided about stored runs, as it lies in the log: flags, holds, receipts of deletions
ALTER TABLE landing ADD COLUMN IF NOT EXISTS notes Array(Tuple(kind String, body String))
