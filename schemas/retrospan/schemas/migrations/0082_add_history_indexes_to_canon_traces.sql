-- title: find the traces of a history without reading all of them
ALTER TABLE canon_traces
    ADD INDEX IF NOT EXISTS by_goes_on_from goes_on_from TYPE bloom_filter GRANULARITY 1,
    ADD INDEX IF NOT EXISTS by_ends_with ends_with TYPE bloom_filter GRANULARITY 1
