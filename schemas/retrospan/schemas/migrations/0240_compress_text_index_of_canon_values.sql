-- title: where a word occurs is kept in packed bits: the index of words takes 0.6 of the room; parts that are there are packed when they are merged
ALTER TABLE canon_values
    MODIFY SETTING text_index_posting_list_codec = 'bitpacking'
