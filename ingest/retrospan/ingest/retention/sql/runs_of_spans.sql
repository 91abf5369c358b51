-- title: the runs of some spans
-- params: tenant String, trace_ids Array(String), span_ids Array(String) (one for each trace id)
-- returns: run_id
SELECT DISTINCT s.run_id AS run_id
FROM canon_spans AS s
INNER JOIN
(
    SELECT tenant, trace_id, generation
    FROM canon_traces FINAL
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
) AS p USING (tenant, trace_id, generation)
WHERE s.tenant = {tenant:String}
    AND (s.trace_id, s.span_id) IN (SELECT arrayJoin(arrayZip({trace_ids:Array(String)}, {span_ids:Array(String)})) AS pair)
    AND s.run_id != ''
ORDER BY run_id
