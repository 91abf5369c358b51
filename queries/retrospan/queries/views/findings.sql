-- title: findings, one row per thing that a rule found wrong with a run
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   rule LowCardinality(String): exact_loop, wording_loop, alternation, repeated_failures, idle_growth, full_context, lost_context, contradiction, unconfirmed_effect or odd_sequence
--   severity LowCardinality(String): info, warning or error
--   step Nullable(UInt32): step where it begins; NULL if outside any step
--   agent_name LowCardinality(Nullable(String)): agent that it is about
--   tool_name LowCardinality(Nullable(String)): tool that it is about; NULL if it is not about one
--   evidence Array(String): references of what shows it: steps, spans, messages, runs
--   explanation String: what is wrong, in one sentence that quotes the run
--   at DateTime64(9, 'UTC'): when the last of it began, by the producer's clock
-- note: The documentation has a page on what each rule finds, and what it does not. What is not on record is not judged: no row does not mean that nothing is wrong.
-- note: odd_sequence: a run of an agent in which one tool follows another as in none of the 1,000 runs before it, after 100 runs and more without any new sequence. Only runs of production that call tools count, and of each agent the newest 1,000 are judged.
-- note: unconfirmed_effect leaves out runs in progress, effects whose key was executed or skipped in another run, and those that another run undid.
-- example: SELECT rule, severity, step, explanation FROM findings WHERE run_id = {run_id:String} ORDER BY at
-- example: SELECT rule, count() AS times, uniqExact(run_id) AS runs FROM findings GROUP BY rule ORDER BY runs DESC
SELECT
    f.tenant AS tenant,
    f.run_id AS run_id,
    f.rule AS rule,
    f.severity AS severity,
    f.step AS step,
    f.agent_name AS agent_name,
    f.tool_name AS tool_name,
    f.evidence AS evidence,
    f.explanation AS explanation,
    f.at AS at
FROM canon_findings AS f
INNER JOIN
(
    SELECT
        tenant,
        run_id,
        generation,
        outcome,
        is_open,
        process_id,
        least(greatest(newest_ended_at, last_said_at), arrived_at) AS said_at
    FROM canon_runs FINAL
    WHERE NOT deleted
) AS p USING (tenant, run_id, generation)
WHERE f.rule != 'unconfirmed_effect'
    OR (
        -- Not in progress: neither does its process live, nor has it said something of late.
        NOT (
            p.is_open AND (p.tenant, p.process_id) IN
            (
                SELECT tenant, processes.process_id
                FROM processes
                WHERE last_alive_at > now64(9, 'UTC')
                    - toIntervalMillisecond(3000 * if(interval_seconds > 0, least(interval_seconds, 86400), 30))
            )
        )
        AND NOT (
            p.outcome = 'incomplete' AND p.said_at > now() - INTERVAL 5 MINUTE AND p.said_at < now() + INTERVAL 1 DAY
        )
        -- The last that shows it is the span of the call: another run names its id, and it is of one run alone.
        AND (f.tenant, splitByChar('/', f.evidence[-1])[-1]) NOT IN
        (
            SELECT tenant, span_id
            FROM canon_effects
            WHERE (tenant, span_id) IN
            (
                SELECT e.tenant, assumeNotNull(e.compensates)
                FROM canon_effects AS e
                INNER JOIN
                (
                    SELECT tenant, run_id, generation
                    FROM canon_runs FINAL
                    WHERE NOT deleted
                        AND (tenant, run_id) IN (SELECT tenant, run_id FROM canon_effects WHERE isNotNull(compensates))
                ) AS s
                    USING (tenant, run_id, generation)
                WHERE isNotNull(e.compensates) AND e.effect_status = 'executed'
            )
            GROUP BY tenant, span_id
            HAVING uniqExact(run_id) = 1
        )
        AND (f.tenant, ifNull(f.idempotency_key, '')) NOT IN
        (
            SELECT e.tenant, assumeNotNull(e.idempotency_key)
            FROM canon_effects AS e
            INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS s
                USING (tenant, run_id, generation)
            WHERE e.effect_status IN ('executed', 'skipped')
                AND (e.tenant, e.idempotency_key) IN
                (
                    SELECT tenant, idempotency_key
                    FROM canon_findings
                    WHERE rule = 'unconfirmed_effect' AND isNotNull(idempotency_key)
                )
        )
    )
UNION ALL
SELECT
    n.tenant AS tenant,
    n.run_id AS run_id,
    CAST('odd_sequence', 'LowCardinality(String)') AS rule,
    CAST('info', 'LowCardinality(String)') AS severity,
    CAST(NULL, 'Nullable(UInt32)') AS step,
    CAST(n.agent_name, 'LowCardinality(Nullable(String))') AS agent_name,
    CAST(NULL, 'LowCardinality(Nullable(String))') AS tool_name,
    [retrospan_reference('run', n.run_id)] AS evidence,
    concat(
        if(
            n.place > 1000,
            'None of the 1,000 runs of this agent before it had called ',
            'No run of this agent that is on record had called '
        ),
        n.pairs[1],
        if(length(n.pairs) > 1, concat(' (and ', toString(length(n.pairs) - 1), ' more)'), ''),
        if(n.place > 1000, '', concat(' before, in ', toString(n.place - 1), ' runs')),
        ', and the last ',
        toString(least(n.place - n.before - 1, 1000)),
        ' of them did nothing new.'
    ) AS explanation,
    n.started_at AS at
FROM
(
    SELECT
        *,
        -- The last run before it that did something new.
        lagInFrame(place, 1, toUInt64(0)) OVER (
            PARTITION BY tenant, agent_name
            ORDER BY place ASC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS before
    FROM
    (
        SELECT
            tenant,
            agent_name,
            run_id,
            started_at,
            place,
            total,
            arraySort(groupArray(pair)) AS pairs
        FROM
        (
            SELECT
                *,
                lagInFrame(place, 1, toUInt64(0)) OVER (
                    PARTITION BY tenant, agent_name, pair
                    ORDER BY place ASC
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS seen
            FROM
            (
                SELECT tenant, agent_name, run_id, started_at, place, total, arrayJoin(pairs) AS pair
                FROM
                (
                    SELECT
                        r.tenant AS tenant,
                        assumeNotNull(r.agent_name) AS agent_name,
                        r.run_id AS run_id,
                        r.started_at AS started_at,
                        row_number() OVER (
                            PARTITION BY r.tenant, r.agent_name
                            ORDER BY r.started_at ASC, r.run_id ASC
                        ) AS place,
                        count() OVER (PARTITION BY r.tenant, r.agent_name) AS total,
                        arrayDistinct(
                            arrayMap(
                                (tool, next) -> concat(tool, ' > ', next),
                                arrayPopBack(arrayPushFront(h.tools, '(start)')),
                                h.tools
                            )
                        ) AS pairs
                    FROM
                    (
                        -- 1,000 that are judged, as many before the first of these, and a hundred before it of which it
                        -- matters whether they did something new.
                        SELECT tenant, run_id, generation, agent_name, started_at
                        FROM canon_runs FINAL
                        WHERE NOT deleted
                            AND run_kind = 'production'
                            AND isNotNull(agent_name)
                            AND (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM canon_habits)
                        ORDER BY
                            started_at DESC,
                            run_id DESC
                        LIMIT 2100 BY tenant, agent_name
                    ) AS r
                    LEFT ANY JOIN canon_habits AS h
                        ON h.tenant = r.tenant AND h.run_id = r.run_id AND h.generation = r.generation
                )
            )
        )
        WHERE seen = 0 OR place - seen > 1000
        GROUP BY tenant, agent_name, run_id, started_at, place, total
    )
) AS n
WHERE n.place > 100 AND n.place - n.before > 100 AND n.total - n.place < 1000
