-- title: what one batch of runs makes of canon_values is one file of data, not fifty; parts from 6 MiB on have large blocks
-- 0152 said 1 MiB, which is less than the values of 200 runs: each is written once so, and merged soon.
ALTER TABLE canon_values MODIFY SETTING min_bytes_for_wide_part = 6291456
