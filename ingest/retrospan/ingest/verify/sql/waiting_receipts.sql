-- title: receipts of a log that are not known to be carried out in the tables
-- params: log UInt32, buried UInt64 (the last that is known to be)
-- returns: number of them UInt64
SELECT count()
FROM receipts
WHERE log = {log:UInt32} AND number > {buried:UInt64} AND what != 'segment'
