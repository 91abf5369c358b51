-- title: parts of raw_spans below 64 MiB have one file of data, not one for each column: making files is much of an insert
ALTER TABLE raw_spans MODIFY SETTING min_bytes_for_wide_part = 67108864
