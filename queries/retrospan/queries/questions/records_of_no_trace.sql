-- title: Whose log records name no trace
-- params: none
-- returns: up to 5 rows, the most records first: service_name, records
SELECT service_name, count() AS records
FROM logs
WHERE trace_id = ''
GROUP BY service_name
ORDER BY records DESC, service_name
LIMIT 5
