-- title: up to which record an epoch loaded, by its batches
-- params: log UInt32, epoch UInt32
-- returns: last_record, 0 when there is none
SELECT max(last_record) AS last_record
FROM loaded_batches
WHERE log = {log:UInt32} AND epoch = {epoch:UInt32}
