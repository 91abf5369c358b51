-- title: parts of canon_runs below 64 MiB have one file of data: whoever reads a run reads all of its columns
ALTER TABLE canon_runs MODIFY SETTING min_bytes_for_wide_part = 67108864
