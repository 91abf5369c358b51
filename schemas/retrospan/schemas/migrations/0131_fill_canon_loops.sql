-- title: the loops of runs that were interpreted before there was a table of them
INSERT INTO canon_loops
SELECT
    l.tenant AS tenant,
    l.run_id AS run_id,
    l.generation AS generation,
    l.agent_name AS agent_name,
    l.island[1].2 AS tool_name,
    l.island[1].3 AS arguments_hash,
    t.arguments AS arguments,
    length(l.island) AS repeats,
    l.island[1].1 AS first_step,
    l.island[-1].1 AS last_step,
    CAST(notEmpty(l.island[1].4) AND arrayAll(x -> x.4 = l.island[1].4, l.island), 'Bool') AS same_result,
    l.island[1].5 AS started_at
FROM canon_tool_calls AS t
INNER JOIN
(
    SELECT
        tenant,
        run_id,
        generation,
        agent_name,
        arrayJoin(
            arrayFilter(
                i -> length(i) >= 3,
                -- A new island begins where tool or arguments change; unknown arguments equal nothing.
                arraySplit((x, new) -> new, calls, arrayMap(
                    (x, before) -> x.2 != before.2 OR x.3 != before.3 OR empty(x.3),
                    calls,
                    arrayPopBack(arrayPushFront(calls, calls[1]))
                ))
            )
        ) AS island,
        island[1].6 AS ordinal
    FROM
    (
        SELECT
            c.tenant AS tenant,
            c.run_id AS run_id,
            c.generation AS generation,
            c.agent_name AS agent_name,
            arraySort(
                groupArray(
                    (
                        assumeNotNull(c.step),
                        c.tool_name,
                        ifNull(c.arguments_hash, ''),
                        ifNull(c.result_hash, ''),
                        c.started_at,
                        c.ordinal
                    )
                )
            ) AS calls
        FROM canon_tool_calls AS c
        INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
            USING (tenant, run_id, generation)
        WHERE c.status NOT IN ('not_executed', 'unknown') AND isNotNull(c.step)
        GROUP BY c.tenant, c.run_id, c.generation, c.agent_name
        HAVING length(calls) >= 3
    )
) AS l ON l.tenant = t.tenant AND l.run_id = t.run_id AND l.generation = t.generation AND l.ordinal = t.ordinal
WHERE (l.tenant, l.run_id, l.generation) NOT IN (SELECT tenant, run_id, generation FROM canon_loops)
