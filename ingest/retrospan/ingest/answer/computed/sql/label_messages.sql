-- title: some messages in a few words
-- params: run_ids Array(String), generations Array(UInt64), hashes Array(String)
-- returns: run_id, generation, hash, label
SELECT
    run_id,
    generation,
    hash,
    if(
        role = '',
        json,
        concat(role, ': ', substringUTF8(retrospan_message_text(json), 1, 120))
    ) AS label
FROM canon_values
WHERE
    run_id IN {run_ids:Array(String)}
    AND generation IN {generations:Array(UInt64)}
    AND kind = 'message'
    AND hash IN {hashes:Array(String)}
