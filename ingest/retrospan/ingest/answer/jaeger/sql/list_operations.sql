-- title: the names of a service's spans with their kinds
-- params: service String; kinds Array(Int32), empty for any; most UInt64
-- returns: name, kind
SELECT
    toString(name) AS name,
    kind
FROM raw_spans
WHERE service_name = {service:String}
    AND (empty({kinds:Array(Int32)}) OR has({kinds:Array(Int32)}, kind))
GROUP BY name, kind
ORDER BY name, kind
LIMIT {most:UInt64}
