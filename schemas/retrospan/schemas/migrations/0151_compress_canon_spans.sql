-- title: the ids of canonical spans are compressed better; it holds for what is written from now on and for what is merged
ALTER TABLE canon_spans
    MODIFY COLUMN trace_id CODEC(ZSTD(1)),
    MODIFY COLUMN span_id CODEC(ZSTD(1)),
    MODIFY COLUMN run_id CODEC(ZSTD(1))
