-- title: the view over landing that unnests log records, with the function of triples as it is now
-- select: 0014_create_raw_logs_from_landing_view
-- What it selects is what it selected: a view keeps what a function was when it was made.
ALTER TABLE raw_logs_from_landing
    MODIFY QUERY
