-- title: the texts of an array's elements, or of a kvlist's values
-- params: list Array(Tuple) of elements as in `landing`
-- returns: Array(String): text as it is, decimal numbers, true or false, '' for unset, else base64
CREATE FUNCTION IF NOT EXISTS retrospan_element_texts AS (list) -> arrayMap(
    e -> multiIf(
        tupleElement(e, 'kind') = 'text', tupleElement(e, 'text'),
        tupleElement(e, 'kind') = 'number', toString(tupleElement(e, 'number')),
        tupleElement(e, 'kind') = 'real', toString(tupleElement(e, 'real')),
        tupleElement(e, 'kind') = 'flag', toString(tupleElement(e, 'flag')),
        base64Encode(multiIf(tupleElement(e, 'kind') = 'array', tupleElement(e, 'array'), tupleElement(e, 'kind') = 'kvlist', tupleElement(e, 'kvlist'), tupleElement(e, 'octets')))
    ),
    list
)
