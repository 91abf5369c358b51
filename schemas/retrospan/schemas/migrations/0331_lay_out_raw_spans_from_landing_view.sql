-- title: the view over landing that unnests spans, with the function of triples as it is now
-- select: 0013_create_raw_spans_from_landing_view
-- What it selects is what it selected: a view keeps what a function was when it was made.
ALTER TABLE raw_spans_from_landing
    MODIFY QUERY
