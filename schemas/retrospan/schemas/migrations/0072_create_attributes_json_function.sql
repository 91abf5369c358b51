-- title: attributes as one JSON object
-- params: attributes Array(Tuple(key, kind, value)) as from retrospan_triples
-- returns: String, with equal keys as often as they were sent; bytes in base64
CREATE FUNCTION IF NOT EXISTS retrospan_attributes_json AS (attributes) -> concat(
    '{',
    arrayStringConcat(
        arrayMap(
            a -> concat(
                toJSONString(toString(a.key)),
                ':',
                multiIf(
                    a.kind IN ('string', 'bytes'), toJSONString(a.value),
                    a.kind = 'double' AND a.value IN ('nan', 'inf', '-inf'), toJSONString(retrospan_double_json(a.value)),
                    a.kind = 'double', retrospan_double_json(a.value),
                    a.kind = 'unset', 'null',
                    a.value
                )
            ),
            attributes
        ),
        ','
    ),
    '}'
)
