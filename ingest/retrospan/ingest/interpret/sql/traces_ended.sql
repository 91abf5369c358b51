-- title: which of some traces have a root span
-- params: tenants Array(String), trace_ids Array(String) (one for each tenant)
-- returns: tenant, trace_id
SELECT DISTINCT
    tenant,
    trace_id
FROM raw_spans
WHERE (tenant, trace_id) IN (SELECT arrayJoin(arrayZip({tenants:Array(String)}, {trace_ids:Array(String)})))
    AND parent_span_id = ''
ORDER BY
    tenant,
    trace_id
