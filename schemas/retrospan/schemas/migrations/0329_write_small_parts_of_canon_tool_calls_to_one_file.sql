-- title: parts of canon_tool_calls below 16 MiB have one file of data, as those of canon_values have
ALTER TABLE canon_tool_calls MODIFY SETTING min_bytes_for_wide_part = 16777216
