-- title: times and steps of canonical edges are compressed better; it holds for what is written from now on and for what is merged
ALTER TABLE canon_edges
    MODIFY COLUMN step CODEC(ZSTD(1)),
    MODIFY COLUMN at CODEC(ZSTD(1))
