-- title: values that are compared without the ids in their texts
-- params: run_ids Array(String), generations Array(UInt64), numbers Array(UInt32)
-- returns: run_id, generation, number, key; only of values that have ids
SELECT
    run_id,
    generation,
    number,
    retrospan_key_of_value(kind, json, hash) AS key
FROM canon_values
WHERE
    run_id IN {run_ids:Array(String)}
    AND generation IN {generations:Array(UInt64)}
    AND number IN {numbers:Array(UInt32)}
    AND key != hash
