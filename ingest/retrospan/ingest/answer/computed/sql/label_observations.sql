-- title: some observations in a few words
-- params: observations Array(String) (ids)
-- returns: observation_id, label
SELECT
    o.observation_id AS observation_id,
    concat(
        any(o.entity_type),
        '/',
        any(o.entity_id),
        ' ',
        substringUTF8(arrayStringConcat(groupArray(concat(o.field, ' = ', ifNull(o.value, 'null'))), ', '), 1, 120)
    ) AS label
FROM canon_observations AS o
WHERE
    o.observation_id IN {observations:Array(String)}
    AND (o.tenant, o.run_id, o.generation) IN
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE
            run_id IN
            (
                SELECT run_id
                FROM canon_observations
                WHERE observation_id IN {observations:Array(String)}
            )
            AND NOT deleted
    )
GROUP BY o.observation_id
