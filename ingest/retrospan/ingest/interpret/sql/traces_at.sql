-- title: traces with a span in some time that names one of some conversations, and was not read with these records yet
-- params: tenant String, began UInt64, ended UInt64 (Unix ns), texts Array(String) (ids of conversations), names Array(String) (attributes that hold one)
-- returns: trace_id
SELECT DISTINCT trace_id
FROM raw_spans
PREWHERE tenant = {tenant:String}
    AND started_ns <= {ended:UInt64} + 1000000
    AND ended_ns + 1000000 >= {began:UInt64}
    -- Clocks are a day apart at most, as a rule.
    AND arrived_at >= fromUnixTimestamp64Nano(toInt64({began:UInt64}), 'UTC') - toIntervalDay(1)
WHERE arrayExists(a -> a.key IN {names:Array(String)} AND a.value IN {texts:Array(String)}, attributes)
ORDER BY trace_id
