-- title: the view over landing_spans that unnests spans of records that hold nothing else, with the function of triples as it is now
-- select: 0311_create_raw_spans_from_landing_spans_view
-- What it selects is what it selected: a view keeps what a function was when it was made.
ALTER TABLE raw_spans_from_landing_spans
    MODIFY QUERY
