-- title: which granules may hold a trace, a span, or a span with an attribute of some value (its first 200 bytes)
ALTER TABLE raw_spans
    ADD INDEX IF NOT EXISTS by_trace trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS by_span span_id TYPE bloom_filter(0.001) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS by_attribute arrayMap((k, v) -> sipHash64(k, substring(v, 1, 200)), attributes.key, attributes.value) TYPE bloom_filter(0.001) GRANULARITY 1
