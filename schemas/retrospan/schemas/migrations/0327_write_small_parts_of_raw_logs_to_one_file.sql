-- title: parts of raw_logs below 64 MiB have one file of data, as those of raw_spans have
ALTER TABLE raw_logs MODIFY SETTING min_bytes_for_wide_part = 67108864
