-- title: the number of the last batch of an epoch
-- params: log UInt32, epoch UInt32
-- returns: number, 0 when there is none
SELECT max(number) AS number
FROM loaded_batches
WHERE log = {log:UInt32} AND epoch = {epoch:UInt32}
