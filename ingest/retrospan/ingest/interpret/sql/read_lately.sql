-- title: runs and traces that were read last: rows of them that another reading replaced may not have been deleted
-- params: within UInt64 (nanoseconds before the last reading), most UInt64 (rows)
-- returns: key (run_id or trace_id), tenant, name, generation
SELECT key, tenant, name, generation
FROM
(
    SELECT 'run_id' AS key, tenant, run_id AS name, max(canon_runs.generation) AS generation
    FROM canon_runs
    WHERE canon_runs.generation + {within:UInt64} > (SELECT max(generation) FROM canon_runs)
    GROUP BY tenant, run_id
    UNION ALL
    SELECT 'trace_id' AS key, tenant, trace_id AS name, max(canon_traces.generation) AS generation
    FROM canon_traces
    WHERE canon_traces.generation + {within:UInt64} > (SELECT max(generation) FROM canon_traces)
    GROUP BY tenant, trace_id
)
ORDER BY generation DESC
LIMIT {most:UInt64}
