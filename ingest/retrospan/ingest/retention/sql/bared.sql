-- title: which of some runs, or traces without a run, lost their payloads, and what of them had arrived then
-- params: tenant String, names Array(String)
-- returns: subject, last_arrival Int64 (Unix ns)
SELECT subject, max(toUnixTimestamp64Nano(last_arrival)) AS newest
FROM receipts
WHERE what = 'payloads' AND tenant = {tenant:String} AND subject IN {names:Array(String)}
GROUP BY subject
ORDER BY subject
