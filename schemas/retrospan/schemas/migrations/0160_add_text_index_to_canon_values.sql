-- title: which granules may hold a word: what is looked for in messages reads no more than these
ALTER TABLE canon_values
    ADD INDEX IF NOT EXISTS by_word json TYPE text(tokenizer = 'splitByNonAlpha')
