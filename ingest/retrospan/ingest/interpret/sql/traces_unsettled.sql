-- title: traces whose reading was cut short lately: of a run of theirs the row is missing that goes with theirs, or one of
--     their runs leans on an earlier one of its conversation that was read after it
-- params: within UInt64 (nanoseconds before the last reading of all)
-- returns: tenant, trace_id, records, newest Array(UInt64) (the newest sequence of each log), home
-- A group of traces and its runs have one generation, a time; the rows of traces are written before those of runs. Every
-- start looks for them, so that what lies long before the last reading was found before.
SELECT
    tenant,
    trace_id,
    toUInt64(0) AS records,
    if(empty(through), [through_sequence], through) AS newest,
    '' AS home
FROM canon_traces
FINAL
WHERE (tenant, trace_id) IN
(
    SELECT w.tenant, w.trace_id
    FROM
    (
        SELECT tenant, trace_id, generation, arrayJoin(run_ids) AS run_id
        FROM canon_traces
        FINAL
        WHERE generation + {within:UInt64} > (SELECT max(generation) FROM canon_traces)
    ) AS w
    LEFT JOIN
    (
        SELECT tenant, run_id, max(generation) AS newest
        FROM canon_runs
        WHERE generation + {within:UInt64} > (SELECT max(generation) FROM canon_traces)
        GROUP BY tenant, run_id
    ) AS r ON r.tenant = w.tenant AND r.run_id = w.run_id
    WHERE r.newest < w.generation
    UNION ALL
    SELECT tenant, arrayJoin(trace_ids) AS trace_id
    FROM
    (
        SELECT
            tenant,
            trace_ids,
            leans,
            generation,
            max(generation) OVER (
                PARTITION BY tenant, conversation_id
                ORDER BY started_at, run_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS earlier
        FROM
        (
            SELECT
                tenant,
                conversation_id,
                run_id,
                started_at,
                trace_ids,
                generation,
                history_run_id IS NOT NULL OR parent_link = 'resumes' AS leans
            FROM canon_runs
            FINAL
            WHERE NOT deleted
                AND (tenant, conversation_id) IN
                (
                    SELECT tenant, conversation_id
                    FROM canon_runs
                    WHERE conversation_id IS NOT NULL
                        AND generation + {within:UInt64} > (SELECT max(generation) FROM canon_runs)
                )
        )
    )
    WHERE leans AND earlier > generation
)
ORDER BY
    tenant,
    trace_id
