-- title: what repeats in attributes is found over whole blocks, and ids and times are compressed better
-- It holds for what is written from now on, and for all that is merged.
ALTER TABLE raw_spans
    MODIFY COLUMN attributes CODEC(ZSTD(3, 24)),
    MODIFY COLUMN trace_id CODEC(ZSTD(1)),
    MODIFY COLUMN span_id CODEC(ZSTD(1)),
    MODIFY COLUMN parent_span_id CODEC(ZSTD(1)),
    MODIFY COLUMN sequence CODEC(ZSTD(1)),
    MODIFY COLUMN arrived_at CODEC(ZSTD(1)),
    MODIFY COLUMN kind CODEC(ZSTD(1)),
    MODIFY COLUMN started_ns CODEC(ZSTD(1)),
    MODIFY COLUMN ended_ns CODEC(ZSTD(1))
