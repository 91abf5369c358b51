-- title: what a text says, apart from how it is written as JSON, for those who look for something in it
-- params: kind String (message, arguments, result or error), text String, sought String (what is looked for: JSON is opened where that may hold a mark of JSON)
-- returns: String; of JSON the texts, numbers and names, with a character between them that no word holds, and of a message
--   not the names, roles and types of its format
CREATE FUNCTION IF NOT EXISTS retrospan_said AS (kind, text, sought) -> if(
    kind = 'error' OR NOT isValidJSON(text),
    text,
    arrayStringConcat(
        arrayMap(
            has -> multiIf(
                startsWith(has.2, '"'),
                ifNull(nullIf(JSONExtractString(has.2), ''), substring(has.2, 2, length(has.2) - 2)),
                has.1 AND position(has.2, '\\') = 0
                    AND NOT match(sought, '["{}\\[\\]:,]'),
                has.2,
                ifNull(nullIf(JSONExtractString('"' || if(
                    has.1,
                    replaceRegexpAll(has.2, '"((?:[^"\\\\]|\\\\.)*)"|[{}\\[\\]:,\\s]', '\\1\\\\u0000'),
                    replaceRegexpAll(
                        has.2,
                        '"(?:[^"\\\\]|\\\\.)*"\\s*:|"((?:[^"\\\\]|\\\\.)*)"|[{}\\[\\],\\s]',
                        '\\1\\\\u0000'
                    )
                ) || '"'), ''), has.2)
            ),
            if(
                kind = 'message' AND JSONHas(text, 'parts'),
                arrayMap(
                    has -> (has.1 IN ('arguments', 'response', 'result'), has.2),
                    arrayFilter(
                        has -> has.1 != 'type' AND has.2 != 'null',
                        arrayFlatten(
                            arrayMap(
                                part -> JSONExtractKeysAndValuesRaw(part),
                                JSONExtractArrayRaw(text, 'parts')
                            )
                        )
                    )
                ),
                [(true, text)]
            )
        ),
        char(0)
    )
)
