-- title: receipts that the log holds and that are not stored like that
-- params: main Identifier (the warehouse's database), log UInt32
-- returns: number
SELECT DISTINCT number
FROM receipts
WHERE (number, sipHash128(tuple(*))) NOT IN
(
    SELECT
        number,
        sipHash128(tuple(*))
    FROM {main:Identifier}.receipts
    WHERE log = {log:UInt32}
)
ORDER BY number
