-- title: whether the attributes of a record hold nothing but what stays when its payload goes, and the mark that it went
-- params: attributes Array(Tuple(key, kind, value, …)); kept Array(String) (keys); mark String (value of retrospan.redacted)
-- returns: Bool; whoever sends may write the mark, so that it alone says nothing
CREATE FUNCTION IF NOT EXISTS retrospan_has_only_kept AS (attributes, kept, mark) -> arrayCount(
    a -> tupleElement(a, 1) = 'retrospan.redacted',
    attributes
) = 1
AND arrayAll(
    a -> has(kept, tupleElement(a, 1))
        OR (tupleElement(a, 1) = 'retrospan.redacted' AND tupleElement(a, 2) = 'string' AND tupleElement(a, 3) = mark),
    attributes
)
