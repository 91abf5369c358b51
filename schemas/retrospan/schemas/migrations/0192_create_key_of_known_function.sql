-- title: the same of what may be unknown: NULL where the hash is
-- params: text Nullable(String); hash Nullable(String), that of the value that the text is of
-- returns: Nullable(String)
CREATE FUNCTION IF NOT EXISTS retrospan_key_of_known AS (text, hash) -> if(
    isNull(hash),
    NULL,
    retrospan_key_of_text(ifNull(text, ''), assumeNotNull(hash))
)
