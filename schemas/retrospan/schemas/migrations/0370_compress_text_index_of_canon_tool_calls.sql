-- title: where a word occurs among tool calls is kept in packed bits, as for values: the index takes 0.7 of the room
ALTER TABLE canon_tool_calls
    MODIFY SETTING text_index_posting_list_codec = 'bitpacking'
