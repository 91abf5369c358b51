-- title: which granules may hold a word in whatever case: what is looked for in messages reads no more than these
ALTER TABLE canon_values
    ADD INDEX IF NOT EXISTS by_folded_word lower(json) TYPE text(tokenizer = 'splitByNonAlpha')
