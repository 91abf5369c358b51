-- title: stale reads, uses of a value that another run later overwrote
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   entity_type LowCardinality(String): kind of thing
--   entity_id String: which one
--   field String: the field that was read
--   run_id String: run that read it
--   step Nullable(UInt32): step of that run
--   agent_name Nullable(String): agent that read it
--   read_at DateTime64(9, 'UTC'): when it was read
--   value Nullable(String): JSON of the value that was read; NULL if the statement cleared the field
--   observation_id String: the statement it was read from
--   new_value Nullable(String): JSON of the value that replaced it; NULL if the field was cleared
--   overwritten_at DateTime64(9, 'UTC'): since when the new value holds
--   overwritten_by String: the statement of the new value
--   overwritten_run_id String: run that overwrote it
--   overwritten_step Nullable(UInt32): step of that run
--   overwritten_agent_name Nullable(String): agent that overwrote it
--   known_at DateTime64(9, 'UTC'): when the new value arrived
--   stale_when_read Bool: the new value already held when the old one was read
--   span_id String: span that read it
--   trace_id String: trace of the span
-- note: what a run read is derived from its retrospan.use events: the statement they name, else what held at that time by what had been stated by then.
-- note: the new value is the one that holds since the statement that was read, if that was stated later, else the next one.
-- example: SELECT run_id, step, field, value, new_value, overwritten_run_id FROM stale_reads WHERE entity_type = 'config' AND entity_id = 'acme-config' ORDER BY read_at
SELECT
    r.tenant AS tenant,
    r.entity_type AS entity_type,
    r.entity_id AS entity_id,
    r.field AS field,
    r.run_id AS run_id,
    r.step AS step,
    r.agent_name AS agent_name,
    r.read_at AS read_at,
    r.read.3 AS value,
    r.read.5 AS observation_id,
    r.following.3 AS new_value,
    r.following.1 AS overwritten_at,
    r.following.5 AS overwritten_by,
    r.following.6 AS overwritten_run_id,
    r.following.7 AS overwritten_step,
    r.following.8 AS overwritten_agent_name,
    r.following.9 AS known_at,
    CAST(r.following.1 <= r.read_at, 'Bool') AS stale_when_read,
    r.span_id AS span_id,
    r.trace_id AS trace_id
FROM
(
    SELECT
        d.tenant AS tenant,
        d.entity_type AS entity_type,
        d.entity_id AS entity_id,
        d.field AS field,
        d.run_id AS run_id,
        d.step AS step,
        d.agent_name AS agent_name,
        d.read_at AS read_at,
        d.span_id AS span_id,
        d.trace_id AS trace_id,
        -- What was read: since when it holds, when it was stated, value, hash, id. A statement that is named need not have won.
        if(d.named = '', b.told, d.said) AS read,
        -- What holds since then, as known now.
        arrayLastIndex(x -> x.1 <= read.1, d.changes) AS place,
        d.changes[if(d.changes[place].4 != read.4 AND d.changes[place].2 >= read.2, place, place + 1)] AS following
    FROM
    (
        SELECT
            u.tenant AS tenant,
            u.entity_type AS entity_type,
            u.entity_id AS entity_id,
            c.field AS field,
            u.run_id AS run_id,
            u.step AS step,
            u.agent_name AS agent_name,
            u.at AS read_at,
            u.span_id AS span_id,
            u.trace_id AS trace_id,
            u.named AS named,
            u.said AS said,
            c.changes AS changes
        FROM
        (
            SELECT
                x.tenant AS tenant,
                x.entity_type AS entity_type,
                x.entity_id AS entity_id,
                x.field AS field,
                x.run_id AS run_id,
                x.step AS step,
                x.agent_name AS agent_name,
                x.at AS at,
                x.span_id AS span_id,
                x.trace_id AS trace_id,
                ifNull(x.observation_id, '') AS named,
                o.field AS said_of,
                (o.valid_from, least(o.said_at, o.known_from), o.value, cityHash64(o.value_hash), o.observation_id) AS said
            FROM canon_uses AS x
            INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
                USING (tenant, run_id, generation)
            LEFT JOIN observations AS o
                ON o.tenant = x.tenant
                AND o.entity_type = x.entity_type
                AND o.entity_id = x.entity_id
                AND o.observation_id = ifNull(x.observation_id, '')
        ) AS u
        INNER JOIN
        (
            -- The changes of a field as known now.
            SELECT
                tenant,
                entity_type,
                entity_id,
                field,
                arraySort(x -> x.1, groupArrayIf(told, rank = winner)) AS won,
                arrayFilter(
                    (x, place) -> x.4 != if(place = 1, cityHash64(''), won[place - 1].4),
                    won,
                    arrayEnumerate(won)
                ) AS changes
            FROM
            (
                SELECT
                    tenant,
                    entity_type,
                    entity_id,
                    field,
                    (said.1, said.2, said.3, said.4, said.5, said.6, said.7, said.8, said.9) AS told,
                    (said.10, said.1, said.9, said.5) AS rank,
                    max(rank) OVER
                    (
                        PARTITION BY tenant, entity_type, entity_id, field
                        ORDER BY told.1 ASC
                        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                    ) AS winner
                FROM
                (
                    -- The same statement from two runs is one: the first to arrive. None was stated after it arrived.
                    SELECT
                        tenant,
                        entity_type,
                        entity_id,
                        field,
                        argMin(
                            (
                                valid_from,
                                least(said_at, known_from),
                                value,
                                cityHash64(value_hash),
                                observation_id,
                                run_id,
                                step,
                                agent_name,
                                known_from,
                                priority
                            ),
                            (known_from, run_id, span_id)
                        ) AS said
                    FROM observations
                    GROUP BY tenant, entity_type, entity_id, field, observation_id
                )
            )
            GROUP BY tenant, entity_type, entity_id, field
        ) AS c ON c.tenant = u.tenant AND c.entity_type = u.entity_type AND c.entity_id = u.entity_id
        WHERE ifNull(u.field = c.field, 1) AND (u.named = '' OR u.said_of = c.field)
    ) AS d
    ASOF LEFT JOIN
    (
        -- What came to be believed of a field, and when: what holds and is stated by then.
        SELECT tenant, entity_type, entity_id, field, told, heard_at
        FROM
        (
            SELECT
                tenant,
                entity_type,
                entity_id,
                field,
                (said.1, said.2, said.3, said.4, said.5) AS told,
                greatest(told.1, told.2) AS heard_at,
                (said.7, said.1, said.6, said.5) AS rank,
                max(rank) OVER
                (
                    PARTITION BY tenant, entity_type, entity_id, field
                    ORDER BY heard_at ASC
                    RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS heard
            FROM
            (
                SELECT
                    tenant,
                    entity_type,
                    entity_id,
                    field,
                    argMin(
                        (
                            valid_from,
                            least(said_at, known_from),
                            value,
                            cityHash64(value_hash),
                            observation_id,
                            known_from,
                            priority
                        ),
                        (known_from, run_id, span_id)
                    ) AS said
                FROM observations
                GROUP BY tenant, entity_type, entity_id, field, observation_id
            )
        )
        WHERE rank = heard
    ) AS b
        ON b.tenant = d.tenant
        AND b.entity_type = d.entity_type
        AND b.entity_id = d.entity_id
        AND b.field = d.field
        AND b.heard_at <= d.read_at
) AS r
WHERE r.read.5 != '' AND r.following.5 != '' AND r.following.6 != r.run_id
SETTINGS join_use_nulls = 0
