-- title: The traces that have a span of this id
-- params: span_id String
-- returns: tenant, trace_id, span_id, run_id
SELECT tenant, trace_id, span_id, run_id
FROM spans
WHERE span_id = {span_id:String}
ORDER BY trace_id
LIMIT 12
