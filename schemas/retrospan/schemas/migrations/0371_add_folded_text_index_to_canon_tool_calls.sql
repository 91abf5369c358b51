-- title: which granules may hold a word in whatever case: what is looked for in texts reads no more tool calls than these
ALTER TABLE canon_tool_calls
    ADD INDEX IF NOT EXISTS by_folded_word lower(concat(ifNull(arguments, ''), ' ', ifNull(result, ''), ' ', ifNull(error_message, ''))) TYPE text(tokenizer = 'splitByNonAlpha')
