-- title: The log records of a run
-- params: run_id String, trace_ids Array(String) (the run's), first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), rows UInt32 (the greatest number)
-- returns: one row each, the columns of the view logs
SELECT
    run_id,
    trace_id,
    span_id,
    step,
    at,
    severity,
    event_name,
    body,
    attributes,
    severity_text,
    scope_name,
    service_name,
    ingested_at
FROM logs
WHERE run_id = {run_id:String}
    AND trace_id IN {trace_ids:Array(String)}
    AND ({first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32})
ORDER BY at, span_id, ingested_at
LIMIT {rows:UInt32}
