-- title: the state of a run when a step began, one row per key
-- params: run_id String, step UInt32
-- returns:
--   key String: name of the part of the state
--   value String: JSON
--   changed_at_step UInt32: the last step before the value appeared; 0: there from the start
--   span_id String: span that shows the value for the first time
-- note: `step` = 0 means the state after the last step. No rows: the state is not known, or the step does not exist.
-- example: SELECT key, value, changed_at_step FROM run_state(run_id = {run_id:String}, step = 5) ORDER BY key
SELECT
    k.key AS key,
    if(
        empty(v.elements[k.number]),
        v.jsons[k.number],
        concat('[', arrayStringConcat(arrayMap(e -> v.jsons[e], v.elements[k.number]), ','), ']')
    ) AS value,
    k.changed_at_step AS changed_at_step,
    k.span_id AS span_id
FROM
(
    -- On the left: there the engine keeps one copy of a run's values for all keys, and on the right one each.
    SELECT
        tenant,
        run_id,
        generation,
        arraySort(
            x -> x.1,
            groupArray((number, if(kind = 'list' AND empty(canon_values.elements), '[]', json)))
        ).2 AS jsons,
        arraySort(x -> x.1, groupArray((number, canon_values.elements))).2 AS elements
    FROM canon_values
    WHERE run_id = {run_id:String}
    GROUP BY tenant, run_id, generation
) AS v
RIGHT JOIN
(
    SELECT
        s.tenant AS tenant,
        s.run_id AS run_id,
        s.generation AS generation,
        s.key AS key,
        argMax((s.value, s.changed_at_step, s.span_id), s.step) AS latest,
        latest.1 AS number,
        latest.2 AS changed_at_step,
        latest.3 AS span_id
    FROM canon_state_changes AS s
    INNER JOIN
    (
        -- The run, if the state asked for is known.
        SELECT r.tenant AS tenant, r.run_id AS run_id, r.generation AS generation
        FROM canon_runs AS r FINAL
        INNER JOIN canon_steps AS t
            ON t.tenant = r.tenant AND t.run_id = r.run_id AND t.generation = r.generation
        WHERE
            r.run_id = {run_id:String}
            AND t.run_id = {run_id:String}
            AND NOT r.deleted
            AND if({step:UInt32} = 0, t.step = r.steps, t.step = {step:UInt32})
            AND isNotNull(if({step:UInt32} = 0, t.state_after_hash, t.state_before_hash))
    ) AS p ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
    WHERE s.run_id = {run_id:String} AND ({step:UInt32} = 0 OR s.step <= {step:UInt32})
    GROUP BY s.tenant, s.run_id, s.generation, s.key
    HAVING number != 0
) AS k ON v.tenant = k.tenant AND v.run_id = k.run_id AND v.generation = k.generation
WHERE notEmpty(v.jsons)
SETTINGS join_use_nulls = 0
