-- title: the services that sent spans, by name
-- params: most UInt64
-- returns: service_name; '' where a resource names none
SELECT DISTINCT toString(service_name) AS service_name
FROM raw_spans
ORDER BY service_name
LIMIT {most:UInt64}
