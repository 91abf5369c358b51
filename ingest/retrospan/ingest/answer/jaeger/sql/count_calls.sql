-- title: how often spans of one service were started under spans of another
-- params: earliest UInt64, latest UInt64: of the start of the span that was called, nanoseconds; most UInt64
-- returns: caller, callee, calls
SELECT
    toString(p.service_name) AS caller,
    toString(c.service_name) AS callee,
    uniqExact(c.trace_id, c.span_id) AS calls
FROM
(
    SELECT tenant, trace_id, span_id, parent_span_id, service_name
    FROM raw_spans
    WHERE started_ns BETWEEN {earliest:UInt64} AND {latest:UInt64} AND parent_span_id != ''
) AS c
INNER JOIN
(
    -- Only traces in which several services took part have such calls.
    SELECT tenant, trace_id, span_id, service_name
    FROM raw_spans
    WHERE trace_id IN
    (
        SELECT trace_id
        FROM raw_spans
        WHERE trace_id IN (SELECT trace_id FROM raw_spans WHERE started_ns BETWEEN {earliest:UInt64} AND {latest:UInt64})
        GROUP BY trace_id
        HAVING uniqExact(service_name) > 1
    )
) AS p ON p.tenant = c.tenant AND p.trace_id = c.trace_id AND p.span_id = c.parent_span_id
WHERE p.service_name != c.service_name
GROUP BY caller, callee
ORDER BY calls DESC, caller, callee
LIMIT {most:UInt64}
