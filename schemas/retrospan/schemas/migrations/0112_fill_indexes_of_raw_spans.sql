-- title: the indexes of rows that were there before; the engine does it in the background
ALTER TABLE raw_spans
    MATERIALIZE INDEX by_trace,
    MATERIALIZE INDEX by_span,
    MATERIALIZE INDEX by_attribute
