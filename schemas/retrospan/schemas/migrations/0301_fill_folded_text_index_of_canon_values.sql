-- title: the folded words of rows that were there before; the engine does it in the background
ALTER TABLE canon_values
    MATERIALIZE INDEX by_folded_word
