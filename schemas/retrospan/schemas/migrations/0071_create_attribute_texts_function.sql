-- title: attributes as texts
-- params: attributes Array(Tuple(key, kind, value)) as from retrospan_triples; rendered Map(String, String), the JSON
--     of those whose kind ends in `*`
-- returns: Map(String, String): strings as they are, others as JSON, bytes in base64; the last of equal keys
CREATE FUNCTION IF NOT EXISTS retrospan_attribute_texts AS (attributes, rendered) -> CAST(
    arrayMap(
        a -> (
            toString(a.key),
            multiIf(
                a.kind = 'double', retrospan_double_json(a.value),
                a.kind = 'unset', 'null',
                a.kind IN ('array*', 'kvlist*') AND mapContains(rendered, a.key), rendered[a.key],
                a.value
            )
        ),
        -- Reversed, the first of each key is kept.
        arrayFilter(
            (a, n) -> n = 1,
            arrayReverse(attributes),
            arrayEnumerateUniq(arrayReverse(arrayMap(a -> a.key, attributes)))
        )
    ),
    'Map(String, String)'
)
