-- title: how many spans of a trace arrived at a time, by the instrumentation that wrote them; what counts over all spans reads this
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the spans
--   trace_id String: trace, lower hex
--   ingested_at DateTime64(9, 'UTC'): arrival of these spans, that of the last variant where a span came again
--   dialect LowCardinality(String): instrumentation that wrote them; '' if none is recognised, or they are not yet interpreted
--   spans UInt64: how many there are, each span once
--   outside UInt64: how many of these belong to no run, or are not yet interpreted
-- note: the same counts as of `spans` by these columns, from what was counted when a trace was read: over a million spans at a fifth of the price. Traces with spans that came since, or came again, are counted anew.
-- example: SELECT dialect, sum(spans) AS spans FROM span_arrivals GROUP BY dialect ORDER BY spans DESC LIMIT 20
-- example: SELECT toStartOfHour(ingested_at) AS hour, sum(spans) AS spans, sum(outside) AS of_no_run FROM span_arrivals GROUP BY hour ORDER BY hour
WITH apart AS
(
    -- Traces that nobody has counted as they are now. One with a span in several rows never is.
    SELECT
        a.tenant AS tenant,
        a.trace_id AS trace_id
    FROM arrivals AS a
    LEFT JOIN
    (
        -- The sizes alone: what is in the arrays is not read here.
        SELECT
            tenant,
            trace_id,
            through,
            arrivals.size0 > 0 AS is_counted
        FROM canon_traces FINAL
    ) AS t USING (tenant, trace_id)
    WHERE NOT t.is_counted
        OR NOT arrayExists(s -> bitShiftRight(s, 40) = bitShiftRight(a.sequence, 40) AND s >= a.sequence, t.through)
)
SELECT
    tenant,
    trace_id,
    fromUnixTimestamp64Nano(tupleElement(arrival, 1), 'UTC') AS ingested_at,
    CAST(tupleElement(arrival, 2), 'LowCardinality(String)') AS dialect,
    toUInt64(tupleElement(arrival, 3)) AS spans,
    toUInt64(tupleElement(arrival, 4)) AS outside
FROM
(
    SELECT
        tenant,
        trace_id,
        arrayJoin(arrivals) AS arrival
    FROM canon_traces FINAL
    WHERE (tenant, trace_id) NOT IN (SELECT tenant, trace_id FROM apart)
)
UNION ALL
SELECT
    tenant,
    trace_id,
    ingested_at,
    CAST(dialect, 'LowCardinality(String)') AS dialect,
    count() AS spans,
    countIf(run_id = '') AS outside
FROM
(
    -- Spans and what was read of them, one below the other: joined, each side would look for these traces by itself.
    SELECT
        tenant,
        trace_id,
        span_id,
        argMax(arrived_at, (sequence, content_hash)) AS ingested_at,
        max(read_dialect) AS dialect,
        max(read_run_id) AS run_id
    FROM
    (
        SELECT
            tenant,
            trace_id,
            span_id,
            sequence,
            content_hash,
            arrived_at,
            CAST('', 'LowCardinality(String)') AS read_dialect,
            '' AS read_run_id,
            true AS is_sent
        FROM raw_spans
        UNION ALL
        SELECT
            s.tenant AS tenant,
            s.trace_id AS trace_id,
            s.span_id AS span_id,
            toUInt64(0) AS sequence,
            toUInt128(0) AS content_hash,
            toDateTime64(0, 9, 'UTC') AS arrived_at,
            s.dialect AS read_dialect,
            s.run_id AS read_run_id,
            false AS is_sent
        FROM canon_spans AS s
        INNER JOIN (SELECT tenant, trace_id, generation FROM canon_traces FINAL) AS p
            USING (tenant, trace_id, generation)
    )
    WHERE (tenant, trace_id) IN (SELECT tenant, trace_id FROM apart)
    GROUP BY tenant, trace_id, span_id
    HAVING max(is_sent)
)
GROUP BY tenant, trace_id, ingested_at, dialect
SETTINGS
    do_not_merge_across_partitions_select_final = 0,
    join_use_nulls = 0
