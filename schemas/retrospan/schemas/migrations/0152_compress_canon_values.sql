-- title: what repeats in texts of canonical values is found over whole blocks, and parts from 1 MiB on have such blocks
ALTER TABLE canon_values
    MODIFY COLUMN json CODEC(ZSTD(3, 24)),
    MODIFY SETTING min_bytes_for_wide_part = 1048576
