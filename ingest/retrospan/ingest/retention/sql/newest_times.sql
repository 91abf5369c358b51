-- title: the newest arrival and the newest deletion
-- params: none
-- returns: arrived_ns Int64, deleted_ns Int64 (Unix ns; 0 when there is none)
SELECT
    (SELECT toUnixTimestamp64Nano(max(arrived_at)) FROM arrivals) AS arrived_ns,
    (SELECT toUnixTimestamp64Nano(max(deleted_at)) FROM receipts) AS deleted_ns
