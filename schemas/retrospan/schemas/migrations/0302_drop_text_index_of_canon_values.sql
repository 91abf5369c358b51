-- title: the words in the case they have are not asked for any more
ALTER TABLE canon_values
    DROP INDEX IF EXISTS by_word
