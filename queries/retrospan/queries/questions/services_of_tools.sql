-- title: The service that each tool's span names, for mutation rules that ask for it
-- params: since DateTime64(9, 'UTC'), run_id String ('' = any)
-- returns: run_id, span_id, service_name
SELECT
    run_id,
    span_id,
    service_name
FROM spans
WHERE operation = 'tool'
    AND started_at >= {since:DateTime64(9, 'UTC')}
    AND ({run_id:String} = '' OR run_id = {run_id:String})
