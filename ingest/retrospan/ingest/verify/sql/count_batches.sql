-- title: how much an epoch loaded
-- params: log UInt32, epoch UInt32
-- returns: batches, items
SELECT
    count() AS batches,
    sum(items) AS items
FROM loaded_batches FINAL
WHERE log = {log:UInt32} AND epoch = {epoch:UInt32}
