-- title: parts of canon_values below 4 MiB have one file of data: most are merged within seconds
ALTER TABLE canon_values MODIFY SETTING min_bytes_for_wide_part = 4194304
