-- title: the folded words of tool calls that were there before; the engine does it in the background
ALTER TABLE canon_tool_calls
    MATERIALIZE INDEX by_folded_word
