-- title: the archive's segments that receipts name, and what the newest of each says
-- params: log UInt32
-- returns: subject, number, content_hash, hash_after
SELECT
    subject,
    max(number) AS newest,
    argMax(content_hash, number) AS hash_before,
    argMax(hash_after, number) AS left_hash
FROM receipts
WHERE what = 'segment' AND log = {log:UInt32}
GROUP BY subject
ORDER BY subject
