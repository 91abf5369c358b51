-- title: the archive's segments that receipts name, and what each held last
-- params: log UInt32
-- returns: subject, deleted_at Int64 (Unix ns, the newest), content_hash, hash_after
SELECT
    subject,
    max(toUnixTimestamp64Nano(deleted_at)) AS newest,
    argMax(content_hash, number) AS content_hash,
    argMax(hash_after, number) AS hash_after
FROM receipts FINAL
WHERE what = 'segment' AND log = {log:UInt32}
GROUP BY subject
ORDER BY subject
