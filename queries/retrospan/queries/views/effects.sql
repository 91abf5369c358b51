-- title: effects, one row per call that states what it does to the world, with any problems
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   origin_run_id String: the first run over resumes and retries
--   step Nullable(UInt32): step of the call; NULL if outside any step
--   tool_name String: the tool; for a span that is not a tool call, its name
--   idempotency_key Nullable(String): equal for two calls that must have one effect
--   effect LowCardinality(Nullable(String)): none, read, write or destructive; NULL if the call does not state it
--   effect_status LowCardinality(String): planned, executed, skipped, failed or unknown
--   times_executed UInt64: how often the effect of the key was executed, in all runs; without a key, of this call
--   compensated_by Nullable(String): span of the executed call that undoes it, and was not undone in turn
--   problem LowCardinality(String): executed_twice, to_compensate, no_key or ''
--   problems Array(String): all problems
--   tool_call Nullable(UInt32): ordinal of the tool call
--   attempt Nullable(UInt32): which attempt it was, as the program states
--   at DateTime64(9, 'UTC'): when the call ended, by the producer's clock
--   span_id String: span of the call
--   trace_id String: trace of the span
--   compensates Nullable(String): span whose effect this call undoes
-- note: without a stated status it is executed if its span succeeded, skipped if that says that it was refused, else unknown: a failed call may have had its effect, as may one that has begun and not ended.
-- note: executed_twice: a write or destructive call whose key was executed more than once, in any runs.
-- note: no_key: a write or destructive call without a key, so a repeat cannot be recognised.
-- note: to_compensate: a write or destructive call that was executed, or may have been, and that nothing undid, in a run that failed or broke off (killed and lost at once), unless a later run of the same origin succeeded, or one that goes on from it executed or skipped the call of the same key.
-- example: SELECT run_id, step, tool_name, idempotency_key, times_executed FROM effects WHERE problem = 'executed_twice' ORDER BY at
-- example: SELECT step, tool_name, span_id FROM effects WHERE run_id = {run_id:String} AND has(problems, 'to_compensate') ORDER BY step DESC
SELECT
    e.tenant AS tenant,
    e.run_id AS run_id,
    p.origin_run_id AS origin_run_id,
    e.step AS step,
    e.tool_name AS tool_name,
    e.idempotency_key AS idempotency_key,
    e.effect AS effect,
    e.effect_status AS effect_status,
    if(isNull(e.idempotency_key), toUInt64(e.effect_status = 'executed'), k.times) AS times_executed,
    nullIf(u.span_id, '') AS compensated_by,
    CAST(if(empty(problems), '', problems[1]), 'LowCardinality(String)') AS problem,
    arrayFilter(
        x -> x != '',
        [
            if(writes AND times_executed > 1, 'executed_twice', ''),
            if(
                writes
                    AND e.effect_status IN ('executed', 'unknown')
                    AND isNull(e.compensates)
                    AND isNull(compensated_by)
                    AND p.broke_off
                    AND f.last_started_at <= p.started_at
                    AND NOT arrayExists(
                        x -> x.run_id != e.run_id
                            AND (x.origin_run_id = p.origin_run_id OR x.resumed = e.run_id)
                            AND x.at >= e.at,
                        k.settling
                    ),
                'to_compensate',
                ''
            ),
            if(ifNull(e.effect IN ('write', 'destructive'), 0) AND isNull(e.idempotency_key), 'no_key', '')
        ]
    ) AS problems,
    e.tool_call AS tool_call,
    e.attempt AS attempt,
    e.at AS at,
    e.span_id AS span_id,
    e.trace_id AS trace_id,
    e.compensates AS compensates
FROM
(
    SELECT
        tenant,
        run_id,
        generation,
        step,
        tool_name,
        idempotency_key,
        effect,
        effect_status,
        tool_call,
        attempt,
        at,
        span_id,
        trace_id,
        compensates,
        ifNull(effect NOT IN ('none', 'read'), 1) AS writes
    FROM canon_effects
) AS e
INNER JOIN
(
    SELECT
        c.tenant AS tenant,
        c.run_id AS run_id,
        c.generation AS generation,
        c.origin_run_id AS origin_run_id,
        c.started_at AS started_at,
        r.outcome IN ('error', 'killed', 'lost')
            OR (r.outcome = 'incomplete' AND ifNull(r.incomplete_because, '') != 'interrupted') AS broke_off
    FROM (SELECT tenant, run_id, generation, origin_run_id, started_at FROM canon_runs FINAL WHERE NOT deleted) AS c
    INNER JOIN (SELECT tenant, run_id, outcome, incomplete_because FROM runs) AS r
        ON r.tenant = c.tenant AND r.run_id = c.run_id
) AS p ON p.tenant = e.tenant AND p.run_id = e.run_id AND p.generation = e.generation
LEFT JOIN
(
    SELECT
        x.tenant AS tenant,
        assumeNotNull(x.idempotency_key) AS idempotency_key,
        countIf(x.effect_status = 'executed') AS times,
        CAST(
            groupArrayIf(
                (x.run_id, r.origin_run_id, r.resumed, x.at),
                x.effect_status IN ('executed', 'skipped') AND (r.origin_run_id != x.run_id OR r.resumed != '')
            ),
            'Array(Tuple(run_id String, origin_run_id String, resumed String, at DateTime64(9, \'UTC\')))'
        ) AS settling
    FROM canon_effects AS x
    INNER JOIN
    (
        SELECT
            tenant,
            run_id,
            generation,
            origin_run_id,
            if(ifNull(parent_link, '') IN ('resumes', 'retries'), ifNull(parent_run_id, ''), '') AS resumed
        FROM canon_runs FINAL
        WHERE NOT deleted
    ) AS r ON r.tenant = x.tenant AND r.run_id = x.run_id AND r.generation = x.generation
    WHERE isNotNull(x.idempotency_key)
    GROUP BY tenant, idempotency_key
) AS k ON k.tenant = e.tenant AND k.idempotency_key = ifNull(e.idempotency_key, '')
LEFT JOIN
(
    SELECT tenant, run_id, undone, argMin(undoing_span_id, (at, undoing_span_id)) AS span_id
    FROM
    (
        SELECT
            x.tenant AS tenant,
            x.undone AS undone,
            x.at AS at,
            x.span_id AS undoing_span_id,
            -- Programs that count their spans, or seed chance, give calls of several runs one id.
            arrayJoin(
                multiIf(
                    has(t.run_ids, x.run_id), [x.run_id],
                    has(t.origins, x.origin_run_id),
                    arrayFilter((r, o) -> o = x.origin_run_id, t.run_ids, t.origins),
                    length(t.run_ids) = 1, t.run_ids,
                    CAST([], 'Array(String)')
                )
            ) AS run_id
        FROM
        (
            SELECT
                c.tenant AS tenant,
                c.run_id AS run_id,
                c.span_id AS span_id,
                c.at AS at,
                assumeNotNull(c.compensates) AS undone,
                r.origin_run_id AS origin_run_id,
                groupArray(assumeNotNull(c.compensates)) OVER (PARTITION BY c.tenant, r.origin_run_id) AS undone_in_origin
            FROM canon_effects AS c
            INNER JOIN
            (
                SELECT tenant, run_id, generation, origin_run_id
                FROM canon_runs FINAL
                WHERE NOT deleted
                    AND (tenant, run_id) IN (SELECT tenant, run_id FROM canon_effects WHERE isNotNull(compensates))
            ) AS r
                ON r.tenant = c.tenant AND r.run_id = c.run_id AND r.generation = c.generation
            WHERE isNotNull(c.compensates) AND c.effect_status = 'executed'
        ) AS x
        INNER JOIN
        (
            SELECT
                c.tenant AS tenant,
                c.span_id AS span_id,
                groupArray(c.run_id) AS run_ids,
                groupArray(r.origin_run_id) AS origins
            FROM
            (
                SELECT tenant, run_id, generation, span_id
                FROM canon_effects
                WHERE (tenant, span_id) IN
                (
                    SELECT tenant, assumeNotNull(compensates)
                    FROM canon_effects
                    WHERE isNotNull(compensates)
                )
            ) AS c
            INNER JOIN
            (
                SELECT tenant, run_id, generation, origin_run_id
                FROM canon_runs FINAL
                WHERE NOT deleted
                    AND (tenant, run_id) IN
                    (
                        SELECT tenant, run_id
                        FROM canon_effects
                        WHERE (tenant, span_id) IN
                        (
                            SELECT tenant, assumeNotNull(compensates)
                            FROM canon_effects
                            WHERE isNotNull(compensates)
                        )
                    )
            ) AS r ON r.tenant = c.tenant AND r.run_id = c.run_id AND r.generation = c.generation
            GROUP BY tenant, span_id
        ) AS t ON t.tenant = x.tenant AND t.span_id = x.undone
        -- What was undone in turn undoes nothing.
        WHERE NOT has(x.undone_in_origin, x.span_id)
    )
    GROUP BY tenant, run_id, undone
) AS u ON u.tenant = e.tenant AND u.run_id = e.run_id AND u.undone = e.span_id
LEFT JOIN
(
    SELECT tenant, origin_run_id, max(started_at) AS last_started_at
    FROM canon_runs FINAL
    WHERE NOT deleted AND outcome = 'ok' AND origin_run_id != run_id
    GROUP BY tenant, origin_run_id
) AS f ON f.tenant = e.tenant AND f.origin_run_id = p.origin_run_id
SETTINGS join_use_nulls = 0
