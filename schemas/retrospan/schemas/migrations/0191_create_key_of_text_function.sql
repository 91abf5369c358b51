-- title: what a text is compared by: the hash of what it is in, or without its ids if it has some
-- params: text String; hash String, that of the value that the text is of
-- returns: String
CREATE FUNCTION IF NOT EXISTS retrospan_key_of_text AS (text, hash) -> arrayMap(
    plain -> if(plain = text, hash, hex(sipHash128(plain))),
    [retrospan_without_ids(text)]
)[1]
