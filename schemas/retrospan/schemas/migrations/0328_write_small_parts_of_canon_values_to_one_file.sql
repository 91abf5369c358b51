-- title: parts of canon_values below 16 MiB have one file of data: most are merged within seconds
ALTER TABLE canon_values MODIFY SETTING min_bytes_for_wide_part = 16777216
