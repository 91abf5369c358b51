-- title: parts of canon_tool_calls below 2 MiB have one file of data: most are merged within seconds
ALTER TABLE canon_tool_calls MODIFY SETTING min_bytes_for_wide_part = 2097152
