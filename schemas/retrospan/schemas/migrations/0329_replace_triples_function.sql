-- title: an attribute list as ordered (key, kind, value) triples, one for each attribute as sent
-- params: keys Array(String) and values Array(Tuple) of the list as in `landing`
-- returns: Array(Tuple(key, kind, value)); what the value looks like is written in retrospan.schemas.raw
-- The same as before, with the elements of arrays and the values of kvlists in one list: a value is one or the other. What
-- is written once the engine plans once, and planning is most of inserting a few spans.
CREATE OR REPLACE FUNCTION retrospan_triples AS (keys, values) -> arrayMap(
    (key, v, kind, members) -> tuple(
        key,
        kind,
        multiIf(
            kind = 'string', tupleElement(v, 'text'),
            kind = 'int', toString(tupleElement(v, 'number')),
            kind = 'double', toString(tupleElement(v, 'real')),
            kind = 'bool', toString(tupleElement(v, 'flag')),
            kind = 'bytes', base64Encode(tupleElement(v, 'octets')),
            kind = 'unset', '',
            retrospan_list_json(
                kind,
                arrayConcat(arrayMap(e -> '', tupleElement(tupleElement(v, 'array'), 'values')), tupleElement(tupleElement(tupleElement(v, 'kvlist'), 'values'), 'key')),
                tupleElement(members, 'kind'),
                retrospan_element_texts(members)
            )
        )
    ),
    keys,
    values,
    arrayMap(
        (v, members) -> CAST(
            toInt8(tupleElement(v, 'kind'))
                + 3 * arrayExists(e -> retrospan_is_odd(tupleElement(e, 'kind'), tupleElement(e, 'real')), members),
            'Enum8(\'unset\' = 0, \'string\' = 1, \'bool\' = 2, \'int\' = 3, \'double\' = 4, \'array\' = 5, \'kvlist\' = 6, \'bytes\' = 7, \'array*\' = 8, \'kvlist*\' = 9)'
        ),
        values,
        arrayMap(
            v -> arrayConcat(
                tupleElement(tupleElement(v, 'array'), 'values'),
                tupleElement(tupleElement(tupleElement(v, 'kvlist'), 'values'), 'value')
            ),
            values
        )
    ),
    arrayMap(
        v -> arrayConcat(
            tupleElement(tupleElement(v, 'array'), 'values'),
            tupleElement(tupleElement(tupleElement(v, 'kvlist'), 'values'), 'value')
        ),
        values
    )
)
