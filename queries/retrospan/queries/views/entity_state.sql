-- title: the fields of an entity at a time, as known at a time
-- params: entity_type String, entity_id String, at String, known_at String
-- returns:
--   field String: the field
--   value String: JSON of its value
--   introduced_by String: the statement that introduced the value
--   last_asserted_by String: the winning statement: the latest with this value, possibly the same
--   valid_from DateTime64(9, 'UTC'): since when that statement holds
--   known_from DateTime64(9, 'UTC'): when that statement arrived
--   source Nullable(String): where its agent learned it
--   correction Bool: true if that statement is a correction
--   since DateTime64(9, 'UTC'): since when the field has had the value
--   run_id String: run that introduced the value
--   step Nullable(UInt32): step of that run
--   span_id String: span that introduced it
--   agent_name Nullable(String): agent that introduced it
--   confidence Nullable(Float64): of the winning statement
--   priority Int32: of the winning statement
--   observations UInt64: statements about the field that held and were known by then
--   tenant LowCardinality(String): owner of the entity
-- note: `at` and `known_at` are times such as 2026-11-21T14:32:00Z, UTC if they have no zone; '' is any time.
-- note: a field that was cleared, or about which nothing was known, has no row.
-- note: of the statements with valid_from up to `at` and known_from up to `known_at` the greatest wins, by priority, valid_from, known_from, observation_id.
-- example: SELECT field, value, introduced_by, since FROM entity_state(entity_type = 'config', entity_id = 'acme-config', at = '2026-11-21T14:35:00Z', known_at = '') ORDER BY field
SELECT
    w.field AS field,
    assumeNotNull(w.won.2) AS value,
    w.introduced.1.4 AS introduced_by,
    w.won.1.4 AS last_asserted_by,
    w.won.1.2 AS valid_from,
    w.won.1.3 AS known_from,
    w.won.4 AS source,
    w.won.5 AS correction,
    w.introduced.1.2 AS since,
    w.introduced.7 AS run_id,
    w.introduced.8 AS step,
    w.introduced.9 AS span_id,
    w.introduced.10 AS agent_name,
    w.won.6 AS confidence,
    w.won.1.1 AS priority,
    w.observations AS observations,
    w.tenant AS tenant
FROM
(
    SELECT
        tenant,
        field,
        count() AS observations,
        -- What won in its time, in order. The last wins now; the value has held since the first after another value.
        arraySort(s -> s.1.2, groupArrayIf(said, said.1 = winner)) AS winners,
        winners[-1] AS won,
        winners[arrayLastIndex(s -> s.3 != won.3, winners) + 1] AS introduced
    FROM
    (
        SELECT
            tenant,
            field,
            said,
            max(said.1) OVER
            (
                PARTITION BY tenant, field
                ORDER BY said.1.2 ASC
                RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS winner
        FROM
        (
            -- The same statement from two runs is one: the first to arrive.
            SELECT
                o.tenant AS tenant,
                o.field AS field,
                argMin(
                    (
                        (o.priority, o.valid_from, o.known_from, o.observation_id),
                        o.value,
                        o.value_hash,
                        o.source,
                        o.correction,
                        o.confidence,
                        o.run_id,
                        o.step,
                        o.span_id,
                        o.agent_name
                    ),
                    (o.known_from, o.run_id, o.span_id)
                ) AS said
            FROM canon_observations AS o
            INNER JOIN
            (
                SELECT tenant, run_id, generation
                FROM canon_runs FINAL
                WHERE NOT deleted AND run_id IN (
                    SELECT run_id
                    FROM canon_observations
                    WHERE entity_type = {entity_type:String} AND entity_id = {entity_id:String}
                )
            ) AS p ON p.tenant = o.tenant AND p.run_id = o.run_id AND p.generation = o.generation
            WHERE
                o.entity_type = {entity_type:String}
                AND o.entity_id = {entity_id:String}
                AND (
                    {known_at:String} = ''
                    OR o.known_from <= parseDateTime64BestEffort(if({known_at:String} = '', '1970-01-01', {known_at:String}), 9, 'UTC')
                )
            GROUP BY o.tenant, o.field, o.observation_id
        )
        WHERE
            {at:String} = ''
            OR said.1.2 <= parseDateTime64BestEffort(if({at:String} = '', '1970-01-01', {at:String}), 9, 'UTC')
    )
    GROUP BY tenant, field
) AS w
WHERE isNotNull(w.won.2)
