-- title: find the traces of an answer without reading all of them
ALTER TABLE canon_traces
    ADD INDEX IF NOT EXISTS by_answers answers TYPE bloom_filter GRANULARITY 1,
    ADD INDEX IF NOT EXISTS by_retold retold TYPE bloom_filter GRANULARITY 1
