-- title: which of these keys any resource has: only for them resources need to be read
-- params: keys Array(String)
-- returns: key
SELECT DISTINCT toString(arrayJoin(arrayFilter(k -> has({keys:Array(String)}, k), resource_attributes.key))) AS key
FROM raw_spans
