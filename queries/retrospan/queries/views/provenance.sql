-- title: where a thing came from (up), or what came from it (down), level by level
-- params: ref String, depth UInt32, direction String
-- returns:
--   depth UInt32: distance from the start; 0 is the start itself
--   subject String: reference of the later thing; at depth 0 the reference asked for
--   relation LowCardinality(String): the PROV name; '' at depth 0
--   object String: reference of the earlier thing; at depth 0 where the walk starts (a run's answer)
--   evidence LowCardinality(String): stated, matched or inferred; '' at depth 0
--   run_id String: run that holds the edge
--   step Nullable(UInt32): step of that run
--   at Nullable(DateTime64(9, 'UTC')): when, by the producer's clock; NULL at depth 0
--   label String: the thing reached in few words: object when walking up, subject when walking down
--   truncated Bool: the walk stopped here, at the depth asked for or at 10,000 rows, though it goes on
--   role LowCardinality(Nullable(String)): part the object played; of a used message its role
-- note: `ref` is any reference; `run:R` starts at the answer of run R, `message:H` in every run that holds it.
-- note: `direction` is up or down. A walk stays in its run; a message without producer there leads to its latest producer in an earlier run of the conversation.
-- example: SELECT depth, subject, relation, object, label FROM provenance(ref = concat('run:', {run_id:String}), depth = 6, direction = 'up') ORDER BY depth, subject, object
WITH RECURSIVE
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
            SELECT v.run_id AS run_id, {ref:String} AS reference
            FROM canon_values AS v
            INNER JOIN
            (
                SELECT tenant, run_id, generation
                FROM canon_runs FINAL
                WHERE NOT deleted
            ) AS p ON p.tenant = v.tenant AND p.run_id = v.run_id AND p.generation = v.generation
            WHERE
                startsWith({ref:String}, 'message:')
                AND v.kind = 'message'
                AND v.hash = substring({ref:String}, 9)
            UNION ALL
            SELECT e.run_id AS run_id, {ref:String} AS reference
            FROM canon_edges AS e
            INNER JOIN
            (
                SELECT tenant, run_id, generation
                FROM canon_runs FINAL
                WHERE NOT deleted
            ) AS p ON p.tenant = e.tenant AND p.run_id = e.run_id AND p.generation = e.generation
            WHERE
                NOT match({ref:String}, '^(run|step|message):')
                AND (e.subject = {ref:String} OR e.object = {ref:String})
        )
    ) AS starts,
    -- Runs the walk may enter: those it starts in, their parents, and the other runs of their conversations.
    (
        SELECT groupUniqArray(conversation_id)
        FROM canon_runs FINAL
        WHERE has(arrayMap(s -> s.1, starts), run_id) AND isNotNull(conversation_id)
    ) AS conversations,
    (
        SELECT groupUniqArrayArray(arrayFilter(r -> r != '', [run_id, ifNull(parent_run_id, ''), origin_run_id]))
        FROM canon_runs FINAL
        WHERE has(arrayMap(s -> s.1, starts), run_id)
    ) AS family,
    (
        SELECT groupUniqArray(run_id)
        FROM canon_runs FINAL
        WHERE NOT deleted AND (has(family, run_id) OR (notEmpty(conversations) AND has(conversations, conversation_id)))
    ) AS scope,
    pointer AS
    (
        SELECT tenant, run_id, generation, conversation_id, started_at, agent_name, input
        FROM canon_runs FINAL
        WHERE has(scope, run_id) AND NOT deleted
    ),
    -- (A reference that names a run belongs to that run, whichever run holds the edge.)
    edges AS
    (
        SELECT
            if(
                match(subject, '^(run:.|step:.*/[0-9]+$)'),
                decodeURLComponent(extract(subject, '^(?:run|step):(.*?)(?:/[0-9]+)?$')),
                run_id
            ) AS subject_run,
            subject,
            relation,
            object,
            if(
                match(object, '^(run:.|step:.*/[0-9]+$)'),
                decodeURLComponent(extract(object, '^(?:run|step):(.*?)(?:/[0-9]+)?$')),
                run_id
            ) AS object_run,
            role,
            evidence,
            run_id,
            step,
            at
        FROM provenance_edges
        WHERE has(scope, run_id)
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
            max(e.at) AS at
        FROM
        (
            SELECT DISTINCT
                v.run_id AS run_id,
                concat('message:', v.hash) AS subject,
                p.conversation_id AS conversation_id,
                p.started_at AS started_at
            FROM canon_values AS v
            INNER JOIN pointer AS p ON p.tenant = v.tenant AND p.run_id = v.run_id AND p.generation = v.generation
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
            INNER JOIN pointer AS p ON p.tenant = e.tenant AND p.run_id = e.run_id AND p.generation = e.generation
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
            subject,
            relation,
            object,
            role,
            evidence,
            run_id,
            step,
            at
        FROM edges
    ),
    -- One row for each level, its edges in an array. A path per row would double at every step.
    walk AS
    (
        SELECT
            toUInt32(0) AS depth,
            starts AS frontier,
            arrayMap(s -> cityHash64(s), starts) AS seen,
            arrayMap(
                s -> (
                    ('', ''),
                    s,
                    {ref:String},
                    '',
                    s.2,
                    CAST(NULL, 'Nullable(String)'),
                    '',
                    s.1,
                    CAST(NULL, 'Nullable(UInt32)'),
                    CAST(NULL, 'Nullable(DateTime64(9, \'UTC\'))')
                ),
                starts
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
                groupUniqArray(10001)(
                    (
                        d.origin,
                        d.target,
                        d.subject,
                        toString(d.relation),
                        d.object,
                        CAST(d.role, 'Nullable(String)'),
                        toString(d.evidence),
                        d.run_id,
                        d.step,
                        toNullable(d.at)
                    )
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
    f.subject AS subject,
    f.relation AS relation,
    f.object AS object,
    f.evidence AS evidence,
    f.run_id AS run_id,
    f.step AS step,
    f.at AS at,
    if(
        n.role = '',
        n.words,
        concat(
            n.role,
            ': ',
            substringUTF8(
                arrayStringConcat(
                    arrayMap(
                        p -> multiIf(
                            JSONExtractString(p, 'type') = 'tool_call',
                            concat(JSONExtractString(p, 'name'), '(', JSONExtractRaw(p, 'arguments'), ')'),
                            JSONHas(p, 'response'),
                            if(
                                JSONType(p, 'response') = 'String',
                                JSONExtractString(p, 'response'),
                                JSONExtractRaw(p, 'response')
                            ),
                            JSONHas(p, 'content'),
                            if(
                                JSONType(p, 'content') = 'String',
                                JSONExtractString(p, 'content'),
                                JSONExtractRaw(p, 'content')
                            ),
                            p
                        ),
                        JSONExtractArrayRaw(n.words, 'parts')
                    ),
                    ' '
                ),
                1,
                120
            )
        )
    ) AS label,
    CAST(
        (f.depth = f.deepest AND f.total > 10000)
            OR (f.depth = least({depth:UInt32}, 500) AND has(f.further, cityHash64(f.target))),
        'Bool'
    ) AS truncated,
    f.role AS role
FROM
(
    SELECT
        k.depth AS depth,
        k.target AS target,
        k.subject AS subject,
        k.relation AS relation,
        k.object AS object,
        k.role AS role,
        k.evidence AS evidence,
        k.run_id AS run_id,
        k.step AS step,
        k.at AS at,
        k.place AS place,
        k.further AS further,
        k.total AS total,
        maxIf(k.depth, k.place <= 10000) OVER () AS deepest
    FROM
    (
        SELECT
            depth,
            edge.2 AS target,
            edge.3 AS subject,
            CAST(edge.4, 'LowCardinality(String)') AS relation,
            edge.5 AS object,
            CAST(edge.6, 'LowCardinality(Nullable(String))') AS role,
            CAST(edge.7, 'LowCardinality(String)') AS evidence,
            edge.8 AS run_id,
            edge.9 AS step,
            edge.10 AS at,
            row_number() OVER (ORDER BY depth, edge) AS place,
            -- Edges one level too deep say where the walk would go on.
            groupUniqArrayIf(10000)(cityHash64(edge.1), depth > least({depth:UInt32}, 500)) OVER () AS further,
            countIf(depth <= least({depth:UInt32}, 500)) OVER () AS total
        FROM
        (
            SELECT depth, arrayJoin(found) AS edge
            FROM walk
        )
    ) AS k
) AS f
LEFT ANY JOIN
(
    SELECT
        (
            s.run_id,
            concat('step:', replaceAll(replaceAll(s.run_id, '%', '%25'), '/', '%2F'), '/', toString(s.step))
        ) AS node,
        '' AS role,
        multiIf(
            s.model_call != 0, trimRight(concat('model call ', toString(s.model_call), ' ', ifNull(m.request_model, ''))),
            s.tool_call != 0, concat(s.name, '(', substringUTF8(ifNull(t.arguments, ''), 1, 120), ')'),
            concat(s.step_kind, ' ', s.name)
        ) AS words
    FROM canon_steps AS s
    INNER JOIN pointer AS p ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
    LEFT ANY JOIN canon_tool_calls AS t
        ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
    LEFT ANY JOIN canon_model_calls AS m
        ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.ordinal = s.model_call
    WHERE has(scope, s.run_id)
    UNION ALL
    SELECT (v.run_id, concat('message:', v.hash)) AS node, v.role AS role, v.json AS words
    FROM canon_values AS v
    INNER JOIN pointer AS p ON p.tenant = v.tenant AND p.run_id = v.run_id AND p.generation = v.generation
    WHERE has(scope, v.run_id) AND v.kind = 'message'
    UNION ALL
    SELECT
        (run_id, concat('run:', replaceAll(replaceAll(run_id, '%', '%25'), '/', '%2F'))) AS node,
        '' AS role,
        concat('run of ', ifNull(agent_name, 'an unnamed agent'), ': ', substringUTF8(ifNull(input, ''), 1, 120)) AS words
    FROM pointer
) AS n ON n.node = f.target
WHERE f.depth <= least({depth:UInt32}, 500) AND f.place <= 10000
SETTINGS join_use_nulls = 0
