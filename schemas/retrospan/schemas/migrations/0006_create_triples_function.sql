-- title: an attribute list as ordered (key, kind, value) triples, one for each attribute as sent
-- params: keys Array(String) and values Array(Tuple) of the list as in `landing`
-- returns: Array(Tuple(key, kind, value)); what the value looks like is written in retrospan.schemas.raw
CREATE FUNCTION IF NOT EXISTS retrospan_triples AS (keys, values) -> arrayMap(
    (key, v, kind) -> tuple(
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
                arrayConcat(
                    tupleElement(tupleElement(tupleElement(v, 'array'), 'values'), 'kind'),
                    tupleElement(tupleElement(tupleElement(tupleElement(v, 'kvlist'), 'values'), 'value'), 'kind')
                ),
                arrayConcat(
                    retrospan_element_texts(tupleElement(tupleElement(v, 'array'), 'values')),
                    retrospan_element_texts(tupleElement(tupleElement(tupleElement(v, 'kvlist'), 'values'), 'value'))
                )
            )
        )
    ),
    keys,
    values,
    arrayMap(v -> retrospan_value_kind(tupleElement(v, 'kind'), tupleElement(tupleElement(v, 'array'), 'values'), tupleElement(tupleElement(v, 'kvlist'), 'values')), values)
)
