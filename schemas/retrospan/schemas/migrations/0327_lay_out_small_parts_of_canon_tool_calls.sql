-- title: what one batch of runs makes of canon_tool_calls is one file of data, not 130; parts from 4 MiB on have large blocks
-- 0153 said 1 MiB, which is less than the calls of 200 runs: each is written once so, and merged soon.
ALTER TABLE canon_tool_calls MODIFY SETTING min_bytes_for_wide_part = 4194304
