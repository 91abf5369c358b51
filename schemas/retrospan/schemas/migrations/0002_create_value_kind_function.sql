-- title: the kind of a value as the raw tables name it
-- params: kind of a value, the elements of its array and the members of its kvlist, as in `landing`
-- returns: Enum8; `array*` and `kvlist*`, 3 above the plain ones, when an element is odd
CREATE FUNCTION IF NOT EXISTS retrospan_value_kind AS (kind, elements, members) -> CAST(
    toInt8(kind) + 3 * (
        arrayExists(e -> retrospan_is_odd(tupleElement(e, 'kind'), tupleElement(e, 'real')), elements)
        OR arrayExists(m -> retrospan_is_odd(tupleElement(tupleElement(m, 'value'), 'kind'), tupleElement(tupleElement(m, 'value'), 'real')), members)
    ),
    'Enum8(\'unset\' = 0, \'string\' = 1, \'bool\' = 2, \'int\' = 3, \'double\' = 4, \'array\' = 5, \'kvlist\' = 6, \'bytes\' = 7, \'array*\' = 8, \'kvlist*\' = 9)'
)
