-- title: traces that were read last of which rows of an earlier reading are there, and their runs
-- params: within UInt64 (nanoseconds before the last reading), most UInt64 (traces looked at, those read last)
-- returns: key (run_id or trace_id), tenant, name, generation
WITH
    lately AS
    (
        SELECT
            tenant,
            trace_id,
            max(canon_traces.generation) AS newest,
            argMax(canon_traces.run_ids, canon_traces.generation) AS run_ids
        FROM canon_traces
        WHERE canon_traces.generation + {within:UInt64} > (SELECT max(generation) FROM canon_traces)
        GROUP BY tenant, trace_id
        ORDER BY newest DESC
        LIMIT {most:UInt64}
    ),
    replaced AS
    (
        SELECT tenant, trace_id, newest, run_ids
        FROM lately
        WHERE (tenant, trace_id) IN
        (
            SELECT tenant, trace_id
            FROM canon_spans
            WHERE (tenant, trace_id) IN (SELECT tenant, trace_id FROM lately)
            GROUP BY tenant, trace_id
            HAVING min(generation) < max(generation)
        )
    )
SELECT 'trace_id' AS key, tenant, trace_id AS name, newest AS generation
FROM replaced
UNION ALL
SELECT 'run_id' AS key, tenant, arrayJoin(run_ids) AS name, newest AS generation
FROM replaced
