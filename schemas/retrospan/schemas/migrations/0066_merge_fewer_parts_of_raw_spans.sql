-- title: merges of raw_spans take fewer parts at once, for each takes 10 MB while it is merged; the default is 100
ALTER TABLE raw_spans MODIFY SETTING max_parts_to_merge_at_once = 8
