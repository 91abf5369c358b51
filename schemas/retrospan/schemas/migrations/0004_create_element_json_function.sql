-- title: one element of an array or kvlist as it stands inside the JSON
-- params: odd UInt8 (the list holds an odd element), kind of the element as in `landing`, text as from
--     retrospan_element_texts
-- returns: JSON, a double always with a point or an exponent, unset as null; or `"tag","text"` when odd, with the
--     tags of retrospan.schemas.raw
CREATE FUNCTION IF NOT EXISTS retrospan_element_json AS (odd, kind, text) -> multiIf(
    odd, concat('"', substring('usbidAMy', toInt8(kind) + 1, 1), '",', toJSONString(text)),
    kind = 'text', toJSONString(text),
    kind = 'unset', 'null',
    kind = 'real' AND NOT match(text, '[.e]'), concat(text, '.0'),
    text
)
