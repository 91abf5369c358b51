-- title: the JSON of an array or kvlist
-- params: kind as from retrospan_value_kind; keys Array(String), empty or [''] times the length for an array;
--     kinds and texts of the elements
-- returns: [x, …], {key: x, …}, [[tag, text], …] or [[key, tag, text], …]
CREATE FUNCTION IF NOT EXISTS retrospan_list_json AS (kind, keys, kinds, texts) -> concat(
    if(kind = 'kvlist', '{', '['),
    arrayStringConcat(
        arrayMap(
            (key, k, t) -> concat(
                if(kind IN ('array*', 'kvlist*'), '[', ''),
                multiIf(kind = 'kvlist', concat(toJSONString(key), ':'), kind = 'kvlist*', concat(toJSONString(key), ','), ''),
                retrospan_element_json(kind IN ('array*', 'kvlist*'), k, t),
                if(kind IN ('array*', 'kvlist*'), ']', '')
            ),
            keys,
            kinds,
            texts
        ),
        ','
    ),
    if(kind = 'kvlist', '}', ']')
)
