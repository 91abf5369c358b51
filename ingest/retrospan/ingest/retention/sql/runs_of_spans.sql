-- title: the runs of some spans
-- params: tenant String, trace_ids Array(String), span_ids Array(String) (one for each trace id)
-- returns: run_id
SELECT DISTINCT run_id
FROM canon_spans FINAL
WHERE tenant = {tenant:String}
    AND (trace_id, span_id) IN (SELECT arrayJoin(arrayZip({trace_ids:Array(String)}, {span_ids:Array(String)})) AS pair)
    AND run_id != ''
ORDER BY run_id
