-- title: what a value of a run is compared by: its hash, or what it says without its ids if it has some
-- params: kind String (message, or any other), json String, hash String
-- returns: String; of a message without the ids of its calls and responses: the numbers that stand for them in its hash
--   shift with each call before it
CREATE FUNCTION IF NOT EXISTS retrospan_key_of_value AS (kind, json, hash) -> arrayMap(
    plain -> if(
        plain != json,
        hex(
            sipHash128(
                JSONExtractString(json, 'role'),
                countSubstrings(json, '"is_error":true'),
                retrospan_without_ids(retrospan_message_text(plain))
            )
        ),
        retrospan_key_of_text(if(kind = 'message', retrospan_message_text(json), json), hash)
    ),
    [
        if(
            kind = 'message',
            replaceRegexpAll(json, '("type":"(?:server_)?tool_call(?:_response)?"),"id":"(?:[^"\\\\]|\\\\.)*"', '\\1'),
            json
        )
    ]
)[1]
