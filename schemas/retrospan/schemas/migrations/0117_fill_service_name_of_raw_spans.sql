-- title: the names of services of rows that were there before; the engine does it in the background
ALTER TABLE raw_spans MATERIALIZE COLUMN service_name
