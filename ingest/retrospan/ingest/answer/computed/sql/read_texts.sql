-- title: some values as short texts
-- params: run_ids Array(String), generations Array(UInt64), numbers Array(UInt32)
-- returns: run_id, generation, number, text
SELECT
    run_id,
    generation,
    number,
    substringUTF8(if(kind = 'message', retrospan_message_text(json), json), 1, 500) AS text
FROM canon_values
WHERE
    run_id IN {run_ids:Array(String)}
    AND generation IN {generations:Array(UInt64)}
    AND number IN {numbers:Array(UInt32)}
