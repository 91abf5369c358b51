-- title: the receipts that the log gave
-- params: none
-- returns: number
SELECT DISTINCT number
FROM receipts
