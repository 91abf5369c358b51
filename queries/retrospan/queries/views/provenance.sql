-- title: where a thing came from (up), or what came from it (down), level by level
-- params: ref String, depth UInt32, direction String
-- returns:
--   depth UInt32: distance from the start; 0 is the start itself
--   subject String: reference of the later thing; at depth 0 the reference asked for
--   relation LowCardinality(String): the PROV name; '' at depth 0
--   object String: reference of the earlier thing; at depth 0 where the walk starts (a run's answer, a span's step)
--   evidence LowCardinality(String): stated, matched or inferred; '' at depth 0
--   run_id String: run that holds the edge; '' where only the document's name does (role version of)
--   step Nullable(UInt32): step of that run
--   at Nullable(DateTime64(9, 'UTC')): when, by the producer's clock; NULL at depth 0 and where no run holds it
--   label String: the thing reached, in a few words: object when walking up, subject when walking down
--   truncated Bool: the walk stopped here, at the given depth, at 10,000 rows or at 1,000 runs, but could continue
--   role LowCardinality(Nullable(String)): part the object played; for a used message, its role
--   place Nullable(String): where in the object stands what was taken, as in provenance_edges
-- note: `ref` is any reference; `run:R` starts at the answer of run R, `message:H` in every run that holds it.
-- note: `direction` is up or down. Outputs, observations, entities, documents, spans, runs and steps are shared by all runs, so a walk goes from run to run through them; a message belongs to its run.
-- note: a message without a producer leads to its latest producer in an earlier run of the conversation. A use of an entity that names no observation counts for those that held then; an entity leads to its observations only if the walk starts from it.
-- example: SELECT depth, subject, relation, object, label FROM provenance(ref = concat('run:', {run_id:String}), depth = 6, direction = 'up') ORDER BY depth, subject, object
WITH RECURSIVE
    -- The run that a reference belongs to: a message to the run that holds the edge, a run and a step to the run they
    -- name, all else to every run. A node is (run, reference).
    (reference, run_id) -> multiIf(
        startsWith(reference, 'message:'),
        run_id,
        match(reference, '^(run:.|step:.*/[0-9]+$)'),
        decodeURLComponent(extract(reference, '^(?:run|step):(.*?)(?:/[0-9]+)?$')),
        ''
    ) AS run_of,
    -- Things to start from as (run, reference). Only the arm that fits the kind of reference reads anything.
    (
        SELECT groupUniqArray((run_id, reference))
        FROM
        (
            SELECT run_id, ifNull(answer_ref, {ref:String}) AS reference
            FROM canon_runs FINAL
            WHERE
                NOT deleted
                AND startsWith({ref:String}, 'run:')
                AND run_id = decodeURLComponent(substring({ref:String}, 5))
            UNION ALL
            SELECT run_id, {ref:String} AS reference
            FROM canon_steps
            WHERE
                match({ref:String}, '^step:.*/[0-9]+$')
                AND run_id = decodeURLComponent(extract({ref:String}, '^step:(.*)/[0-9]+$'))
                AND step = toUInt32OrZero(extract({ref:String}, '/([0-9]+)$'))
            UNION ALL
            SELECT
                s.run_id AS run_id,
                retrospan_step_reference(s.run_id, s.step) AS reference
            FROM canon_steps AS s
            INNER JOIN
            (
                SELECT tenant, run_id, generation
                FROM canon_runs FINAL
                WHERE NOT deleted AND startsWith({ref:String}, 'span:')
            ) AS p USING (tenant, run_id, generation)
            WHERE
                startsWith({ref:String}, 'span:')
                AND s.run_id IN
                (
                    SELECT run_id
                    FROM canon_spans
                    WHERE trace_id = extract({ref:String}, '^span:([^/]*)/') AND span_id = extract({ref:String}, '/([^/]*)$')
                )
                AND s.trace_id = extract({ref:String}, '^span:([^/]*)/')
                AND s.span_id = extract({ref:String}, '/([^/]*)$')
            UNION ALL
            SELECT v.run_id AS run_id, {ref:String} AS reference
            FROM canon_values AS v
            INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
                USING (tenant, run_id, generation)
            WHERE
                startsWith({ref:String}, 'message:')
                AND v.kind = 'message'
                AND v.hash = substring({ref:String}, 9)
            UNION ALL
            SELECT
                if(startsWith({ref:String}, 'run:'), decodeURLComponent(substring({ref:String}, 5)), '') AS run_id,
                {ref:String} AS reference
            FROM canon_crossings AS c
            INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
                USING (tenant, run_id, generation)
            WHERE NOT match({ref:String}, '^(step|message):') AND c.reference = {ref:String}
        )
    ) AS starts,
    -- From run to thing to run, in the direction of the walk; the runs of a conversation are tied as well.
    ties AS
    (
        SELECT
            if(
                side = if({direction:String} = 'down', 'object', 'subject'),
                reference,
                retrospan_reference('run', run_id)
            ) AS origin,
            if(
                side = if({direction:String} = 'down', 'object', 'subject'),
                retrospan_reference('run', run_id),
                reference
            ) AS target
        FROM canon_crossings
        UNION ALL
        SELECT tie.1 AS origin, tie.2 AS target
        FROM
        (
            SELECT
                retrospan_reference('run', run_id) AS run,
                concat('conversation:', assumeNotNull(conversation_id)) AS conversation,
                arrayJoin([(run, conversation), (conversation, run)]) AS tie
            FROM canon_runs FINAL
            WHERE NOT deleted AND isNotNull(conversation_id)
        )
    ),
    reach AS
    (
        SELECT
            toUInt32(0) AS hop,
            arrayMap(
                s -> if(s.1 = '', s.2, retrospan_reference('run', s.1)),
                starts
            ) AS frontier,
            frontier AS seen
        UNION ALL
        SELECT
            toUInt32(hop + 1) AS hop,
            fresh AS frontier,
            arrayConcat(seen, fresh) AS seen
        FROM
        (
            SELECT
                w.hop AS hop,
                any(w.seen) AS seen,
                arrayFilter(n -> NOT has(seen, n), groupUniqArray(3000)(t.target)) AS fresh
            FROM
            (
                SELECT hop, seen, arrayJoin(frontier) AS node
                FROM reach
                WHERE hop < least(2 * least({depth:UInt32}, 500) + 3, 999) AND length(seen) < 10000
            ) AS w
            INNER JOIN ties AS t ON t.origin = w.node
            GROUP BY w.hop
        )
        WHERE notEmpty(fresh)
    ),
    -- Runs the walk may enter, nearest first; and whether there were more.
    (
        SELECT groupArray(run)
        FROM
        (
            SELECT decodeURLComponent(substring(node, 5)) AS run, min(hop) AS nearest
            FROM
            (
                SELECT hop, arrayJoin(frontier) AS node
                FROM reach
            )
            WHERE startsWith(node, 'run:')
            GROUP BY run
            ORDER BY nearest, run
            LIMIT 1001
        )
    ) AS reached,
    arraySlice(reached, 1, 1000) AS scope,
    reached_runs AS
    (
        SELECT tenant, run_id, generation, conversation_id, started_at, agent_name, input
        FROM canon_runs FINAL
        WHERE has(scope, run_id) AND NOT deleted
    ),
    -- What is known of the entities of these runs as edges; few, so that they are put together once for all levels.
    (
        SELECT
            CAST(
                groupArray((subject, relation, object, role, evidence, run_id, step, at)),
                'Array(Tuple(subject String, relation LowCardinality(String), object String, role LowCardinality(Nullable(String)), evidence LowCardinality(String), run_id String, step Nullable(UInt32), at DateTime64(9, \'UTC\')))'
            )
        FROM
        (
            -- Used by name of the entity alone: what held then, as far as it had been said.
            SELECT
                u.subject AS subject,
                'used' AS relation,
                retrospan_reference(
                    'observation',
                    argMax(o.observation_id, (o.priority, o.valid_from, o.known_from, o.observation_id))
                ) AS object,
                toNullable(o.field) AS role,
                'inferred' AS evidence,
                u.run_id AS run_id,
                u.step AS step,
                u.at AS at
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
                    AND (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM reached_runs)
            ) AS u
            INNER JOIN
            (
                SELECT tenant, entity_type, entity_id, field, observation_id, priority, valid_from, known_from, said_at
                FROM canon_observations
                WHERE (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM reached_runs)
            ) AS o USING (tenant, entity_type, entity_id)
            WHERE o.valid_from <= u.at AND o.said_at <= u.at AND (isNull(u.field) OR u.field = o.field)
            GROUP BY u.subject, u.run_id, u.step, u.at, o.field
        )
    ) AS of_entities,
    said AS
    (
        SELECT
            subject,
            relation,
            object,
            role,
            evidence,
            -- That a document is a version of another its name says, and no run more than another that used it.
            if(ifNull(e.role, '') = 'version of' AND e.evidence = 'matched', '', e.run_id) AS run_id,
            if(ifNull(e.role, '') = 'version of' AND e.evidence = 'matched', NULL, e.step) AS step,
            if(ifNull(e.role, '') = 'version of' AND e.evidence = 'matched', NULL, e.at) AS at,
            place
        FROM provenance_edges AS e
        WHERE
            has(scope, e.run_id)
            AND NOT (startsWith(subject, 'entity:') AND startsWith(object, 'observation:') AND subject != {ref:String})
        UNION ALL
        SELECT
            edge.subject,
            edge.relation,
            edge.object,
            edge.role,
            edge.evidence,
            edge.run_id,
            edge.step,
            edge.at,
            CAST(NULL, 'Nullable(String)') AS place
        FROM (SELECT arrayJoin(of_entities) AS edge)
    ),
    edges AS
    (
        SELECT
            run_of(subject, run_id) AS subject_run,
            subject,
            relation,
            object,
            run_of(object, run_id) AS object_run,
            role,
            evidence,
            run_id,
            step,
            at,
            place
        FROM said
        UNION ALL
        -- Said in one run, produced in an earlier run of the conversation: the latest producer counts.
        SELECT
            m.run_id AS subject_run,
            m.subject AS subject,
            CAST('wasGeneratedBy', 'LowCardinality(String)') AS relation,
            latest.1 AS object,
            latest.2 AS object_run,
            CAST(NULL, 'LowCardinality(Nullable(String))') AS role,
            CAST('inferred', 'LowCardinality(String)') AS evidence,
            latest.2 AS run_id,
            argMax(e.step, (e.at, e.object)) AS step,
            max(e.at) AS at,
            CAST(NULL, 'Nullable(String)') AS place
        FROM
        (
            SELECT DISTINCT
                v.run_id AS run_id,
                concat('message:', v.hash) AS subject,
                p.conversation_id AS conversation_id,
                p.started_at AS started_at
            FROM canon_values AS v
            INNER JOIN reached_runs AS p USING (tenant, run_id, generation)
            WHERE length(scope) > 1 AND has(scope, v.run_id) AND v.kind = 'message'
        ) AS m
        INNER JOIN
        (
            SELECT
                e.run_id AS run_id,
                e.subject AS subject,
                e.object AS object,
                e.step AS step,
                e.at AS at,
                p.conversation_id AS conversation_id,
                p.started_at AS started_at
            FROM canon_edges AS e
            INNER JOIN reached_runs AS p USING (tenant, run_id, generation)
            WHERE
                length(scope) > 1
                AND has(scope, e.run_id)
                AND e.relation = 'wasGeneratedBy'
                AND startsWith(e.subject, 'message:')
        ) AS e ON e.subject = m.subject AND e.conversation_id = m.conversation_id
        WHERE e.started_at < m.started_at OR e.run_id = m.run_id
        GROUP BY m.run_id, m.subject
        HAVING
            countIf(e.run_id = m.run_id) = 0
            AND notEmpty((argMax((e.object, e.run_id), (e.at, e.object)) AS latest).1)
    ),
    directed AS
    (
        SELECT
            if({direction:String} = 'down', (object_run, object), (subject_run, subject)) AS origin,
            if({direction:String} = 'down', (subject_run, subject), (object_run, object)) AS target,
            * EXCEPT (subject_run, object_run)
        FROM edges
    ),
    'Array(Tuple(origin Tuple(String, String), target Tuple(String, String), subject String, relation String, object String, role Nullable(String), evidence String, run_id String, step Nullable(UInt32), at Nullable(DateTime64(9, \'UTC\')), place Nullable(String)))' AS edges_type,
    -- One row for each level, its edges in an array. A path per row would double at every step.
    walk AS
    (
        SELECT
            toUInt32(0) AS depth,
            starts AS frontier,
            arrayMap(s -> cityHash64(s), starts) AS seen,
            CAST(
                arrayMap(s -> (('', ''), s, {ref:String}, '', s.2, NULL, '', s.1, NULL, NULL, NULL), starts),
                edges_type
            ) AS found
        UNION ALL
        SELECT
            toUInt32(depth + 1) AS depth,
            fresh AS frontier,
            arrayConcat(seen, arrayMap(n -> cityHash64(n), fresh)) AS seen,
            found
        FROM
        (
            SELECT
                w.depth AS depth,
                any(w.seen) AS seen,
                arrayFilter(n -> NOT has(seen, cityHash64(n)), groupUniqArray(10000)(d.target)) AS fresh,
                CAST(
                    groupUniqArray(10001)(
                        (
                            d.origin,
                            d.target,
                            d.subject,
                            d.relation,
                            d.object,
                            d.role,
                            d.evidence,
                            d.run_id,
                            d.step,
                            d.at,
                            d.place
                        )
                    ),
                    edges_type
                ) AS found
            FROM
            (
                SELECT depth, seen, arrayJoin(frontier) AS node
                FROM walk
                WHERE depth <= least({depth:UInt32}, 500)
            ) AS w
            INNER JOIN directed AS d ON d.origin = w.node
            GROUP BY w.depth
        )
    )
SELECT
    f.depth AS depth,
    f.edge.subject AS subject,
    CAST(f.edge.relation, 'LowCardinality(String)') AS relation,
    f.edge.object AS object,
    CAST(f.edge.evidence, 'LowCardinality(String)') AS evidence,
    f.edge.run_id AS run_id,
    f.edge.step AS step,
    f.edge.at AS at,
    if(
        n.role = '',
        n.words,
        concat(n.role, ': ', substringUTF8(retrospan_message_text(n.words), 1, 120))
    ) AS label,
    CAST(
        (f.depth = f.deepest AND f.total > 10000)
            OR (f.depth = least({depth:UInt32}, 500) AND has(f.further, cityHash64(f.edge.target)))
            OR (length(reached) > 1000 AND f.edge.target.1 = ''),
        'Bool'
    ) AS truncated,
    CAST(f.edge.role, 'LowCardinality(Nullable(String))') AS role,
    f.edge.place AS place
FROM
(
    SELECT
        *,
        maxIf(depth, place <= 10000) OVER () AS deepest
    FROM
    (
        SELECT
            depth,
            edge,
            row_number() OVER (ORDER BY depth, edge) AS place,
            -- Edges one level too deep say where the walk would go on.
            groupUniqArrayIf(10000)(cityHash64(edge.origin), depth > least({depth:UInt32}, 500)) OVER () AS further,
            countIf(depth <= least({depth:UInt32}, 500)) OVER () AS total
        FROM
        (
            SELECT depth, arrayJoin(found) AS edge
            FROM walk
        )
    )
) AS f
LEFT ANY JOIN
(
    SELECT
        (
            s.run_id,
            retrospan_step_reference(s.run_id, s.step)
        ) AS node,
        '' AS role,
        multiIf(
            s.model_call != 0, trimRight(concat('model call ', toString(s.model_call), ' ', ifNull(m.request_model, ''))),
            s.tool_call != 0, concat(s.name, '(', substringUTF8(ifNull(t.arguments, ''), 1, 120), ')'),
            concat(s.step_kind, ' ', s.name)
        ) AS words
    FROM canon_steps AS s
    INNER JOIN reached_runs AS p USING (tenant, run_id, generation)
    LEFT ANY JOIN canon_tool_calls AS t
        ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
    LEFT ANY JOIN canon_model_calls AS m
        ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.ordinal = s.model_call
    WHERE has(scope, s.run_id)
    UNION ALL
    SELECT (v.run_id, concat('message:', v.hash)) AS node, v.role AS role, v.json AS words
    FROM canon_values AS v
    INNER JOIN reached_runs AS p USING (tenant, run_id, generation)
    WHERE has(scope, v.run_id) AND v.kind = 'message'
    UNION ALL
    SELECT
        ('', retrospan_reference('observation', o.observation_id)) AS node,
        '' AS role,
        concat(
            any(o.entity_type),
            '/',
            any(o.entity_id),
            ' ',
            substringUTF8(arrayStringConcat(groupArray(concat(o.field, ' = ', ifNull(o.value, 'null'))), ', '), 1, 120)
        ) AS words
    FROM canon_observations AS o
    INNER JOIN reached_runs AS p USING (tenant, run_id, generation)
    GROUP BY o.observation_id
    UNION ALL
    SELECT
        (run_id, retrospan_reference('run', run_id)) AS node,
        '' AS role,
        concat('run of ', ifNull(agent_name, 'an unnamed agent'), ': ', substringUTF8(ifNull(input, ''), 1, 120)) AS words
    FROM reached_runs
) AS n ON n.node = f.edge.target
WHERE f.depth <= least({depth:UInt32}, 500) AND f.place <= 10000
SETTINGS join_use_nulls = 0
