-- title: what one small insert makes of raw_spans is one file of data, not 160: each is made, written to disk and opened
-- Merges make larger ones of a file for each column, which are compressed better and read in pieces.
ALTER TABLE raw_spans MODIFY SETTING min_bytes_for_wide_part = 33554432
