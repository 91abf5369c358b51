-- title: values that are compared without the ids in their texts
-- params: run_ids Array(String), generations Array(UInt64), numbers Array(UInt32)
-- returns: run_id, generation, number, key; only of values that have ids
WITH
    -- A message without the ids of its calls and responses: the numbers that stand for them in its hash shift with
    -- each call before it.
    (kind, json) -> if(
        kind = 'message',
        replaceRegexpAll(json, '("type":"(?:server_)?tool_call(?:_response)?"),"id":"(?:[^"\\\\]|\\\\.)*"', '\\1'),
        json
    ) AS without_call_ids,
    -- What a value is compared by: its hash, or without ids if it has some.
    (kind, json, hash) -> if(
        without_call_ids(kind, json) != json,
        hex(
            sipHash128(
                JSONExtractString(json, 'role'),
                countSubstrings(json, '"is_error":true'),
                retrospan_without_ids(retrospan_message_text(without_call_ids(kind, json)))
            )
        ),
        retrospan_key_of_text(if(kind = 'message', retrospan_message_text(json), json), hash)
    ) AS key_of_value
SELECT
    run_id,
    generation,
    number,
    key_of_value(kind, json, hash) AS key
FROM canon_values
WHERE
    run_id IN {run_ids:Array(String)}
    AND generation IN {generations:Array(UInt64)}
    AND number IN {numbers:Array(UInt32)}
    AND key != hash
