-- title: when a trace began, ended and arrived, as far as it is known
-- params: tenant String, trace_id String
-- returns: began, ended, arrived (Unix ns; 0 of a trace without spans)
SELECT
    min(started_ns) AS began,
    max(ended_ns) AS ended,
    max(toUnixTimestamp64Nano(arrived_at)) AS arrived
FROM raw_spans
PREWHERE tenant = {tenant:String} AND trace_id = {trace_id:String}
