-- title: the newest epoch of the batches of a log, from one epoch on, and the last record of these
-- params: log UInt32, epoch UInt32
-- returns: epoch UInt32, record UInt64 (sequence); 0 and 0 when there is none
SELECT max(epoch) AS newest_epoch, max(last_record) AS newest_record
FROM loaded_batches
WHERE log = {log:UInt32} AND epoch >= {epoch:UInt32}
