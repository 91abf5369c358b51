-- title: what held of entities when runs used them by name alone, as far as it had been said
-- params: run_ids Array(String) (runs that used), observations Array(String) (ids that held); one of them is empty
-- returns: subject, object, role, run_id, step, at
WITH
    entities AS
    (
        SELECT DISTINCT tenant, entity_type, entity_id
        FROM canon_uses
        WHERE run_id IN {run_ids:Array(String)} AND isNull(observation_id)
        UNION ALL
        SELECT DISTINCT tenant, entity_type, entity_id
        FROM canon_observations
        WHERE observation_id IN {observations:Array(String)}
    ),
    current_generations AS
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE
            NOT deleted
            AND run_id IN
            (
                SELECT run_id
                FROM canon_uses
                WHERE (tenant, entity_type, entity_id) IN (SELECT tenant, entity_type, entity_id FROM entities)
                UNION ALL
                SELECT run_id
                FROM canon_observations
                WHERE (tenant, entity_type, entity_id) IN (SELECT tenant, entity_type, entity_id FROM entities)
            )
    )
SELECT
    u.subject AS subject,
    retrospan_reference(
        'observation',
        argMax(o.observation_id, (o.priority, o.valid_from, o.known_from, o.observation_id)) AS latest
    ) AS object,
    o.field AS role,
    u.run_id AS run_id,
    u.step AS step,
    toString(u.at) AS moment
FROM
(
    SELECT DISTINCT
        tenant,
        entity_type,
        entity_id,
        field,
        run_id,
        canon_uses.step AS step,
        at,
        if(
            isNull(step),
            concat('span:', trace_id, '/', span_id),
            retrospan_step_reference(run_id, assumeNotNull(step))
        ) AS subject
    FROM canon_uses
    WHERE
        isNull(observation_id)
        AND (empty({run_ids:Array(String)}) OR run_id IN {run_ids:Array(String)})
        AND (tenant, entity_type, entity_id) IN (SELECT tenant, entity_type, entity_id FROM entities)
        AND (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM current_generations)
) AS u
INNER JOIN
(
    SELECT tenant, entity_type, entity_id, field, observation_id, priority, valid_from, known_from, said_at
    FROM canon_observations
    WHERE
        (tenant, entity_type, entity_id) IN (SELECT tenant, entity_type, entity_id FROM entities)
        AND (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM current_generations)
) AS o USING (tenant, entity_type, entity_id)
WHERE o.valid_from <= u.at AND o.said_at <= u.at AND (isNull(u.field) OR u.field = o.field)
GROUP BY u.subject, u.run_id, u.step, u.at, o.field
HAVING empty({observations:Array(String)}) OR latest IN {observations:Array(String)}
