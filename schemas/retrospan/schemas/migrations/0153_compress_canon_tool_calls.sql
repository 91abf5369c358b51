-- title: texts of tool calls are compressed in large blocks, as those of values are; parts from 1 MiB on have such blocks
ALTER TABLE canon_tool_calls
    MODIFY COLUMN arguments Nullable(String) CODEC(ZSTD(3, 24)) SETTINGS (min_compress_block_size = 4194304, max_compress_block_size = 16777216),
    MODIFY COLUMN result Nullable(String) CODEC(ZSTD(3, 24)) SETTINGS (min_compress_block_size = 4194304, max_compress_block_size = 16777216),
    MODIFY SETTING min_bytes_for_wide_part = 1048576
