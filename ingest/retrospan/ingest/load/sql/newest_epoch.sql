-- title: the newest epoch in which batches of a log were loaded
-- params: log UInt32
-- returns: epoch UInt32, 0 when there is none
SELECT max(epoch) AS epoch
FROM loaded_batches
WHERE log = {log:UInt32}
