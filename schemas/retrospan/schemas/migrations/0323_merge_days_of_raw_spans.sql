-- title: a day of raw_spans to which nothing came for four hours is merged until few parts are left: each question opens all
ALTER TABLE raw_spans MODIFY SETTING min_partition_age_to_force_merge_seconds = 14400
