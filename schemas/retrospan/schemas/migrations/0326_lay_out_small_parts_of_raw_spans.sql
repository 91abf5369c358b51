-- title: what one small insert makes of raw_spans is one file of data, not 160: each is made, written to disk and opened
-- The first merge makes parts of a file for each column of them, which are compressed better and read in pieces.
ALTER TABLE raw_spans MODIFY SETTING min_bytes_for_wide_part = 33554432
