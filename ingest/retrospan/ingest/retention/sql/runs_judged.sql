-- title: a page of runs as a policy judges them, or some that are named
-- params: tenant String, run_id String (the last of the page before), run_ids Array(String) (of that tenant; [] for a page), before Int64 (of the last arrival), chosen Bool (only what somebody chose to keep), now Int64 (Unix ns), limit UInt64
-- returns: tenant, run_id, run_kind, outcome, agent_name, environment, is_flagged, is_held, arrived_ns, trace_ids
SELECT
    tenant,
    run_id,
    run_kind,
    canon_runs.outcome AS outcome,
    ifNull(agent_name, '') AS agent_name,
    ifNull(environment, '') AS environment,
    if(
        arrayExists(
            id -> (tenant, id) IN (SELECT tenant, run_id FROM run_marks WHERE mark = 'flag'),
            arrayPushFront(aliases, run_id)
        ),
        arrayExists(
            id -> (tenant, id) IN
            (
                SELECT tenant, run_id
                FROM run_marks
                WHERE mark = 'flag'
                GROUP BY tenant, run_id
                HAVING argMax(is_set, (at, sequence))
            ),
            arrayPushFront(aliases, run_id)
        ),
        canon_runs.flagged
    ) AS is_flagged,
    arrayExists(
        id -> (tenant, id) IN
        (
            SELECT tenant, run_id
            FROM run_marks
            WHERE mark = 'hold'
            GROUP BY tenant, run_id
            HAVING argMax(
                is_set AND (isNull(until) OR until > fromUnixTimestamp64Nano({now:Int64}, 'UTC')),
                (at, sequence)
            )
        ),
        arrayPushFront(aliases, run_id)
    ) AS is_held,
    toUnixTimestamp64Nano(arrived_at) AS arrived_ns,
    trace_ids
FROM canon_runs FINAL
WHERE NOT deleted
    AND ((empty({run_ids:Array(String)})
            AND (tenant > {tenant:String} OR (tenant = {tenant:String} AND run_id > {run_id:String})))
        OR (tenant = {tenant:String} AND run_id IN {run_ids:Array(String)}))
    AND arrived_at < fromUnixTimestamp64Nano({before:Int64}, 'UTC')
    AND (NOT {chosen:Bool} OR run_kind = 'golden' OR is_flagged OR is_held)
ORDER BY tenant, run_id
LIMIT {limit:UInt64}
