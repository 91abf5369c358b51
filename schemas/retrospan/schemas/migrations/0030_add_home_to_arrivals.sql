-- title: for whom a trace was touched: the run whose interpreter is to read it; '' for the trace's own
ALTER TABLE arrivals ADD COLUMN IF NOT EXISTS home String
