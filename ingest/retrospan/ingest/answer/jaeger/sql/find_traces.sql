-- title: the traces in which one span fulfils all conditions, the newest first
-- params:
--   any_service UInt8: 1 for any; service String
--   any_name UInt8: 1 for any; name String
--   earliest UInt64, latest UInt64: of the start of the span, nanoseconds
--   shortest UInt64, longest UInt64: of the span, nanoseconds
--   kinds Array(Int32), codes Array(Int32): of the span and of its status; empty for any
--   scopes Array(String), messages Array(String): names of its scope, texts of its status; empty for any
--   keys Array(String), values Array(String): attributes of the span or its resource, pairwise, as texts
--   own Array(String), own_values Array(String): those of them that are surely the span's own, for the index
--   interpreted UInt8: 1 if any of the following is asked for
--   run_id String, operation String, outcome String, step UInt32: of its run; '' and 0 for any
--   most UInt64: of traces
-- returns: trace_id
SELECT trace_id
FROM raw_spans
WHERE ({any_service:UInt8} OR service_name = {service:String})
    AND ({any_name:UInt8} OR name = {name:String})
    AND started_ns BETWEEN {earliest:UInt64} AND {latest:UInt64}
    AND if(ended_ns > started_ns, ended_ns - started_ns, 0) BETWEEN {shortest:UInt64} AND {longest:UInt64}
    AND (empty({kinds:Array(Int32)}) OR has({kinds:Array(Int32)}, kind))
    AND (empty({codes:Array(Int32)}) OR has({codes:Array(Int32)}, status_code))
    AND (empty({scopes:Array(String)}) OR has({scopes:Array(String)}, scope_name))
    AND (empty({messages:Array(String)}) OR has({messages:Array(String)}, status_message))
    AND hasAll(
        arrayMap((k, v) -> sipHash64(k, substring(v, 1, 200)), attributes.key, attributes.value),
        arrayMap((k, v) -> sipHash64(k, substring(v, 1, 200)), {own:Array(String)}, {own_values:Array(String)})
    )
    AND (
        empty({keys:Array(String)})
        OR arrayAll(
            (k, v) -> arrayExists(a -> a.key = k AND (a.value = v OR (a.kind = 'double' AND concat(a.value, '.0') = v)), attributes)
                OR (
                    NOT has({own:Array(String)}, k)
                    AND arrayExists(
                        a -> a.key = k AND (a.value = v OR (a.kind = 'double' AND concat(a.value, '.0') = v)),
                        resource_attributes
                    )
                ),
            {keys:Array(String)},
            {values:Array(String)}
        )
    )
    AND (
        NOT {interpreted:UInt8}
        OR (tenant, trace_id, span_id) IN
        (
            SELECT s.tenant, s.trace_id, s.span_id
            FROM canon_spans AS s
            INNER JOIN
            (
                SELECT tenant, trace_id, generation
                FROM canon_traces FINAL
                WHERE {interpreted:UInt8}
            ) AS p USING (tenant, trace_id, generation)
            WHERE {interpreted:UInt8}
                AND ({run_id:String} = '' OR s.run_id = {run_id:String})
                AND ({operation:String} = '' OR s.operation = {operation:String})
                AND (
                    {outcome:String} = ''
                    OR (s.tenant, s.run_id) IN
                    (
                        SELECT tenant, run_id
                        FROM runs
                        WHERE {outcome:String} != '' AND outcome = {outcome:String}
                    )
                )
                AND (
                    {step:UInt32} = 0
                    OR (s.tenant, s.run_id, s.trace_id, s.span_id) IN
                    (
                        SELECT t.tenant, t.run_id, t.trace_id, t.span_id
                        FROM canon_steps AS t
                        INNER JOIN
                        (
                            SELECT tenant, run_id, generation
                            FROM canon_runs FINAL
                            WHERE {step:UInt32} != 0 AND NOT deleted
                        ) AS n USING (tenant, run_id, generation)
                        WHERE {step:UInt32} != 0 AND t.step = {step:UInt32}
                    )
                )
        )
    )
GROUP BY trace_id
ORDER BY max(started_ns) DESC, trace_id
LIMIT {most:UInt64}
