-- title: two runs side by side, one row per aligned position and differing aspect
-- params: a String, b String
-- returns:
--   position UInt32: place in the alignment, from 1
--   step_a Nullable(UInt32): step of run a; NULL if only b has it
--   step_b Nullable(UInt32): step of run b; NULL if only a has it
--   change LowCardinality(String): same, changed, moved, only_a or only_b
--   aspect LowCardinality(String): what differs: tool, arguments, result, answer, state, prompt, model, error; '' if nothing
--   value_a Nullable(String): what run a has, cut to 500 characters
--   value_b Nullable(String): what run b has, also cut
--   step_kind LowCardinality(String): model, tool, retrieval, memory, step or node
--   name String: the tool of a tool step, the agent of a model step
--   detail LowCardinality(String): for a prompt, which of system, tools and messages differ; for a state, the keys that differ; order if the step moved; inherited if it is of the history that the other run goes on from
--   known Bool: false if something here is known for only one run; that is neither a difference nor equality
-- note: as many steps as possible stand beside one of equal content, in the order of both runs; what is left and has its equal elsewhere has moved; then, between two that are settled, steps stand beside those of their kind and name, and tool calls beside tool calls. A fork or resumed run is compared from where it begins in its parent.
-- note: where the prompts before differ too, a prompt is compared by what it adds to that and what it leaves out of it. Times, ids (in texts as well), token counts and instances are never compared. No rows if one of the runs does not exist.
-- note: behind the steps with which both begin, up to 4,096 of a and 256 of b are aligned as well as possible, and more than that by occurrence. The port of a collector has no such bound.
-- example: SELECT position, step_a, step_b, change, aspect, value_a, value_b FROM run_diff(a = {run_id:String}, b = {other_run_id:String}) WHERE change != 'same' ORDER BY position
WITH
    -- Of the texts that are shown, those of one thing and one side.
    (words, what, side) -> arrayFilter(w -> w.what = what AND w.side = side, words) AS words_of,
    state -> concat('{', arrayStringConcat(arrayMap(s -> concat(toJSONString(s.place), ':', s.text), state), ','), '}') AS as_object,
    -- How many steps of its parent a run inherits.
    (of_parent, names_of_parent, statuses_of_parent, own, own_names, link, fork_step) -> multiIf(
        empty(own), 0,
        -- In a loop the forked step is equal to the first: what repeats all that came before it was run from the start.
        fork_step BETWEEN 1 AND length(of_parent)
            AND of_parent[fork_step] = own[1]
            AND (fork_step = 1 OR arraySlice(own, 1, fork_step - 1) != arraySlice(of_parent, 1, fork_step - 1)), fork_step - 1,
        of_parent[1] = own[1], 0,
        fork_step BETWEEN 1 AND length(of_parent) AND names_of_parent[fork_step] = own_names[1], fork_step - 1,
        has(of_parent, own[1]), indexOf(of_parent, own[1]) - 1,
        link = 'resumes',
        if(has(statuses_of_parent, 'incomplete'), indexOf(statuses_of_parent, 'incomplete') - 1, length(of_parent)),
        0
    ) AS inherited_of,
    current_generations AS
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE run_id IN ({a:String}, {b:String}) AND NOT deleted
    ),
    -- The lists that are shown in words: of a prompt or of a stated state. A state made of messages is the prompt again.
    shown_lists AS
    (
        SELECT DISTINCT run_id, number
        FROM
        (
            SELECT m.run_id AS run_id, arrayJoin([m.system_value, m.tools_value]) AS number
            FROM canon_model_calls AS m
            INNER JOIN current_generations USING (tenant, run_id, generation)
            WHERE m.run_id IN ({a:String}, {b:String})
            UNION ALL
            SELECT s.run_id AS run_id, arrayJoin(s.before_values) AS number
            FROM canon_steps AS s
            INNER JOIN current_generations USING (tenant, run_id, generation)
            WHERE s.run_id IN ({a:String}, {b:String}) AND ifNull(s.state_source, 'messages') != 'messages'
        )
    ),
    -- Each value as a short text; a list as the texts of its first elements in brackets. Rows, never arrays over a run:
    -- joined to every step of a run, an array grows with the square of its length.
    texts AS
    (
        SELECT
            v.run_id AS run_id,
            v.number AS number,
            retrospan_key_of_value(v.kind, v.json, v.hash) AS key,
            v.role AS role,
            substringUTF8(if(v.kind = 'message', retrospan_message_text(v.json), v.json), 1, 500) AS text
        FROM canon_values AS v
        INNER JOIN current_generations USING (tenant, run_id, generation)
        WHERE v.run_id IN ({a:String}, {b:String}) AND v.kind != 'list'
        UNION ALL
        SELECT
            l.run_id AS run_id,
            l.number AS number,
            if(
                any(l.length) <= 20 AND countIf(e.key != e.hash) > 0,
                arrayStringConcat(arraySort((key, place) -> place, groupArray(e.key), groupArray(l.element.place)), ','),
                any(l.hash)
            ) AS key,
            '' AS role,
            concat(
                '[',
                arrayStringConcat(arraySort((text, place) -> place, groupArray(e.text), groupArray(l.element.place)), ','),
                if(any(l.length) > 20, ',…]', ']')
            ) AS text
        FROM
        (
            SELECT
                v.tenant AS tenant,
                v.run_id AS run_id,
                v.generation AS generation,
                v.number AS number,
                v.hash AS hash,
                length(v.elements) AS length,
                arrayJoin(
                    CAST(
                        arrayZip(arrayEnumerate(arraySlice(v.elements, 1, 20)), arraySlice(v.elements, 1, 20)),
                        'Array(Tuple(place UInt32, number UInt32))'
                    )
                ) AS element
            FROM canon_values AS v
            INNER JOIN current_generations USING (tenant, run_id, generation)
            INNER JOIN shown_lists AS s ON s.run_id = v.run_id AND s.number = v.number
            WHERE v.run_id IN ({a:String}, {b:String}) AND v.kind = 'list'
        ) AS l
        INNER JOIN
        (
            SELECT
                tenant,
                run_id,
                generation,
                number,
                hash,
                retrospan_key_of_value(kind, json, hash) AS key,
                substringUTF8(if(kind = 'message', retrospan_message_text(json), json), 1, 500) AS text
            FROM canon_values
            WHERE run_id IN ({a:String}, {b:String})
        ) AS e
            ON e.tenant = l.tenant AND e.run_id = l.run_id AND e.generation = l.generation AND e.number = l.element.number
        GROUP BY l.run_id, l.number
    ),
    -- The input of each model call, and that of the one before by the same agent; the hash of a key as a number takes a
    -- third.
    prompts AS
    (
        SELECT
            run_id,
            step,
            messages,
            lagInFrame(messages) OVER (
                PARTITION BY run_id, agent_name ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS before,
            toUInt32(
                arrayFirstIndex(
                    (x, y) -> x.3 != y.3,
                    arrayPushBack(
                        arraySlice(messages, 1, least(length(messages), length(before))),
                        (0, toUInt128(0), 0)
                    ),
                    arrayPushBack(
                        arraySlice(before, 1, least(length(messages), length(before))),
                        (0, toUInt128(0), 1)
                    )
                ) - 1
            ) AS kept
        FROM
        (
            SELECT
                c.run_id AS run_id,
                c.step AS step,
                any(c.agent_name) AS agent_name,
                CAST(
                    arraySort(groupArray((c.message.place, v.key, c.number))),
                    'Array(Tuple(place UInt32, hash UInt128, number UInt32))'
                ) AS messages
            FROM
            (
                SELECT
                    tenant,
                    run_id,
                    generation,
                    step,
                    ifNull(agent_name, '') AS agent_name,
                    arrayJoin(
                        CAST(arrayZip(arrayEnumerate(input_values), input_values), 'Array(Tuple(place UInt32, number UInt32))')
                    ) AS message,
                    message.number AS number
                FROM canon_model_calls
                WHERE run_id IN ({a:String}, {b:String})
            ) AS c
            INNER JOIN current_generations USING (tenant, run_id, generation)
            INNER JOIN
            (
                SELECT
                    tenant,
                    run_id,
                    generation,
                    number,
                    reinterpretAsUInt128(
                        -- Of what is equal but for the form of its JSON, one key.
                        sipHash128(min(retrospan_key_of_value(kind, json, hash)) OVER (PARTITION BY hash))
                    ) AS key
                FROM canon_values
                WHERE run_id IN ({a:String}, {b:String})
            ) AS v
                ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation AND v.number = c.number
            GROUP BY c.tenant, c.run_id, c.generation, c.step
        )
    ),
    -- What was answered, where it has ids: what it is compared by without them.
    answers AS
    (
        SELECT
            c.tenant AS tenant,
            c.run_id AS run_id,
            c.generation AS generation,
            c.ordinal AS ordinal,
            arrayStringConcat(arraySort((key, place) -> place, groupArray(v.key), groupArray(c.element.place)), ',') AS key
        FROM
        (
            SELECT
                tenant,
                run_id,
                generation,
                ordinal,
                arrayJoin(
                    CAST(arrayZip(arrayEnumerate(output_values), output_values), 'Array(Tuple(place UInt32, number UInt32))')
                ) AS element,
                element.number AS number
            FROM canon_model_calls
            WHERE run_id IN ({a:String}, {b:String})
        ) AS c
        INNER JOIN
        (
            SELECT
                tenant,
                run_id,
                generation,
                number,
                hash,
                min(retrospan_key_of_value(kind, json, hash)) OVER (PARTITION BY hash) AS key
            FROM canon_values
            WHERE
                run_id IN ({a:String}, {b:String})
                AND number IN (SELECT arrayJoin(output_values) FROM canon_model_calls WHERE run_id IN ({a:String}, {b:String}))
        ) AS v
            ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation AND v.number = c.number
        GROUP BY c.tenant, c.run_id, c.generation, c.ordinal
        HAVING countIf(v.key != v.hash) > 0
    ),
    -- What is compared of each step, with its texts cut short.
    facts AS
    (
        SELECT
            s.run_id AS run_id,
            s.step AS step,
            s.step_kind AS step_kind,
            multiIf(s.step_kind = 'model', ifNull(s.agent_name, ''), s.tool_call != 0, t.tool_name, s.name) AS name,
            s.status AS status,
            ifNull(multiIf(s.tool_call != 0, t.error_type, s.model_call != 0, m.error_type, NULL), '') AS error_type,
            ifNull(
                multiIf(s.tool_call != 0, t.error_message, s.model_call != 0, m.error_message, NULL),
                ''
            ) AS error_message,
            if(s.tool_call != 0, t.arguments_hash, NULL) AS arguments_hash,
            if(s.tool_call != 0, t.result_hash, NULL) AS result_hash,
            if(s.tool_call != 0, t.arguments, NULL) AS arguments,
            if(s.tool_call != 0, t.result, NULL) AS result,
            if(s.model_call != 0, m.provider, NULL) AS provider,
            if(s.model_call != 0, m.request_model, NULL) AS request_model,
            m.parameters AS parameters,
            m.parameters_hash AS parameters_hash,
            m.system_hash AS system_hash,
            m.tools_hash AS tools_hash,
            m.input_hash AS input_hash,
            if(w.key = '', m.output_hash, w.key) AS output_hash,
            m.system_value AS system_value,
            m.tools_value AS tools_value,
            m.output_values AS output_values,
            if(ifNull(s.state_source, 'messages') = 'messages', NULL, s.state_before_hash) AS state_hash,
            if(isNull(state_hash), [], arrayMap(k -> toString(k), s.before_keys)) AS state_keys,
            if(isNull(state_hash), [], s.before_values) AS state_values
        FROM canon_steps AS s
        INNER JOIN current_generations USING (tenant, run_id, generation)
        LEFT JOIN
        (
            -- Cut before they are joined: the join holds what it is given.
            SELECT
                tenant,
                run_id,
                generation,
                ordinal,
                tool_name,
                error_type,
                error_message,
                retrospan_key_of_known(canon_tool_calls.arguments, canon_tool_calls.arguments_hash) AS arguments_hash,
                retrospan_key_of_known(canon_tool_calls.result, canon_tool_calls.result_hash) AS result_hash,
                substringUTF8(canon_tool_calls.arguments, 1, 500) AS arguments,
                substringUTF8(canon_tool_calls.result, 1, 500) AS result
            FROM canon_tool_calls
            WHERE run_id IN ({a:String}, {b:String})
        ) AS t
            ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
        LEFT JOIN canon_model_calls AS m
            ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.ordinal = s.model_call
        LEFT JOIN answers AS w
            ON w.tenant = s.tenant AND w.run_id = s.run_id AND w.generation = s.generation AND w.ordinal = s.model_call
        WHERE s.run_id IN ({a:String}, {b:String})
    ),
    -- The same as one tuple with the names of the columns, so that two of them can stand side by side.
    sides AS
    (
        SELECT
            run_id,
            step,
            CAST(
                tuple(facts.* EXCEPT (run_id, step)),
                'Tuple(step_kind LowCardinality(String), name String, status LowCardinality(String), error_type String, error_message String, arguments_hash Nullable(String), result_hash Nullable(String), arguments Nullable(String), result Nullable(String), provider Nullable(String), request_model Nullable(String), parameters String, parameters_hash String, system_hash String, tools_hash String, input_hash String, output_hash String, system_value UInt32, tools_value UInt32, output_values Array(UInt32), state_hash Nullable(String), state_keys Array(String), state_values Array(UInt32))'
            ) AS fact
        FROM facts
    ),
    -- What the alignment goes by, and nothing else.
    named AS
    (
        SELECT
            s.run_id AS run_id,
            s.step AS step,
            s.step_kind AS step_kind,
            s.status AS status,
            multiIf(s.step_kind = 'model', ifNull(s.agent_name, ''), s.tool_call != 0, t.tool_name, s.name) AS name,
            -- Unknown is NULL.
            multiIf(
                s.tool_call != 0, t.arguments_hash,
                s.model_call != 0, if(w.key = '', m.output_hash, w.key),
                ''
            ) AS content
        FROM canon_steps AS s
        INNER JOIN current_generations USING (tenant, run_id, generation)
        LEFT JOIN
        (
            SELECT
                tenant,
                run_id,
                generation,
                ordinal,
                tool_name,
                retrospan_key_of_known(canon_tool_calls.arguments, canon_tool_calls.arguments_hash) AS arguments_hash
            FROM canon_tool_calls
            WHERE run_id IN ({a:String}, {b:String})
        ) AS t
            ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
        LEFT JOIN canon_model_calls AS m
            ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.ordinal = s.model_call
        LEFT JOIN answers AS w
            ON w.tenant = s.tenant AND w.run_id = s.run_id AND w.generation = s.generation AND w.ordinal = s.model_call
        WHERE s.run_id IN ({a:String}, {b:String})
    ),
    -- How one of the runs descends from the other.
    descent AS
    (
        SELECT
            anyIf(
                (link, fork_step),
                run_id = {b:String} AND parent = {a:String} AND link IN ('forks', 'resumes')
            ) AS of_b,
            anyIf(
                (link, fork_step),
                run_id = {a:String} AND parent = {b:String} AND link IN ('forks', 'resumes')
            ) AS of_a
        FROM
        (
            SELECT
                run_id,
                ifNull(parent_run_id, '') AS parent,
                toString(ifNull(parent_link, '')) AS link,
                toUInt32(least(ifNull(canon_runs.fork_step, 0), 4294967295)) AS fork_step
            FROM canon_runs FINAL
            WHERE run_id IN ({a:String}, {b:String}) AND NOT deleted AND {a:String} != {b:String}
        )
    ),
    -- The alignment: one row, stage by stage, as an alias used twice in one SELECT would be worked out twice.
    listed AS
    (
        WITH
            -- A run whose root never came does not know its agents: then the agents name no step of either.
            (
                SELECT uniqExact(s.run_id) = 2
                FROM canon_steps AS s
                INNER JOIN current_generations USING (tenant, run_id, generation)
                WHERE s.run_id IN ({a:String}, {b:String}) AND s.step_kind = 'model' AND ifNull(s.agent_name, '') != ''
            ) AS agents_known,
            cityHash64(step_kind, if(step_kind = 'model' AND NOT agents_known, '', name)) AS key,
            'Array(Tuple(step UInt32, content UInt64, known Bool, name UInt64, is_tool Bool, status String))' AS list_type,
            (step, cityHash64(key, isNull(content), ifNull(content, '')), isNotNull(content), key, step_kind = 'tool', status) AS entry
        SELECT
            CAST(arraySort(groupArrayIf(entry, run_id = {a:String})), list_type) AS steps_a,
            CAST(arraySort(groupArrayIf(entry, run_id = {b:String})), list_type) AS steps_b
        FROM named
        HAVING (SELECT uniqExact(run_id) FROM current_generations) = if({a:String} = {b:String}, 1, 2)
    ),
    begun AS
    (
        SELECT
            steps_a,
            steps_b,
            toUInt32(
                if(
                    of_b.1 = '', 0,
                    inherited_of(steps_a.content, steps_a.name, steps_a.status, steps_b.content, steps_b.name, of_b.1, of_b.2)
                )
            ) AS begins_a,
            toUInt32(
                if(
                    of_a.1 = '', 0,
                    inherited_of(steps_b.content, steps_b.name, steps_b.status, steps_a.content, steps_a.name, of_a.1, of_a.2)
                )
            ) AS begins_b
        FROM listed
        CROSS JOIN descent
    ),
    own AS
    (
        SELECT
            begins_a,
            begins_b,
            arrayMap(s -> (s.content, s.known, s.name, s.is_tool), arraySlice(steps_a, begins_a + 1)) AS own_a,
            arrayMap(s -> (s.content, s.known, s.name, s.is_tool), arraySlice(steps_b, begins_b + 1)) AS own_b
        FROM begun
    ),
    matched AS
    (
        SELECT
            begins_a,
            begins_b,
            length(own_a) AS length_a,
            length(own_b) AS length_b,
            retrospan_aligned(own_a, own_b) AS found
        FROM own
    ),
    settled AS
    (
        SELECT
            begins_a,
            begins_b,
            length_a,
            length_b,
            found.1 AS pairs,
            arrayMap(pair -> (pair.2, pair.1), found.1) AS pairs_of_b,
            found.2 AS moves,
            arrayMap(pair -> (pair.2, pair.1), found.2) AS moves_of_b
        FROM matched
    ),
    partnered AS
    (
        SELECT
            begins_a,
            begins_b,
            retrospan_partners(pairs, length_a) AS partner_a,
            retrospan_partners(pairs_of_b, length_b) AS partner_b,
            retrospan_partners(moves, length_a) AS moved_a,
            retrospan_partners(moves_of_b, length_b) AS moved_b
        FROM settled
    ),
    -- In order: between two that are settled, what a has in its order, then what only b has.
    aligned AS
    (
        WITH 'Array(Tuple(gap Int64, zone Int64, place Int64, step_a UInt32, step_b UInt32, how Int64))' AS places_type
        SELECT
            arraySort(
                arrayConcat(
                    CAST(arrayMap(i -> (-1, 0, i, i, 0, 2), range(1, begins_a + 1)), places_type),
                    CAST(arrayMap(i -> (-1, 1, i, 0, i, 2), range(1, begins_b + 1)), places_type),
                    CAST(
                        arrayMap(
                            (i, partner, elsewhere, settled) -> (
                                settled - (partner != 0),
                                if(partner != 0, 2, 0),
                                i,
                                begins_a + i,
                                if(partner + elsewhere = 0, 0, begins_b + partner + elsewhere),
                                elsewhere != 0
                            ),
                            arrayEnumerate(partner_a),
                            partner_a,
                            moved_a,
                            arrayCumSum(arrayMap(x -> x != 0, partner_a))
                        ),
                        places_type
                    ),
                    CAST(
                        arrayFilter(
                            (place, partner, elsewhere) -> partner = 0 AND elsewhere = 0,
                            arrayMap(
                                (i, settled) -> (settled, 1, i, 0, begins_b + i, 0),
                                arrayEnumerate(partner_b),
                                arrayCumSum(arrayMap(x -> x != 0, partner_b))
                            ),
                            partner_b,
                            moved_b
                        ),
                        places_type
                    )
                )
            ) AS places
        FROM partnered
    ),
    paired AS
    (
        -- Steps count from 1 without a gap, as the indexes do.
        SELECT
            position,
            place.step_a AS step_a,
            place.step_b AS step_b,
            place.how = 1 AS moved,
            place.how = 2 AS inherited
        FROM aligned
        ARRAY JOIN places AS place, arrayEnumerate(places) AS position
    ),
    joined AS
    (
        SELECT
            p.position AS position,
            p.step_a AS step_a,
            p.step_b AS step_b,
            p.moved AS moved,
            p.inherited AS inherited,
            x.fact AS a,
            y.fact AS b,
            p.step_a != 0 AND p.step_b != 0 AS both,
            both AND a.step_kind = 'tool' AND a.name != b.name AS other_tool,
            both AND a.system_hash != b.system_hash AS other_system,
            both AND a.tools_hash != b.tools_hash AS other_tools,
            both AND a.input_hash != b.input_hash AS other_prompt,
            both AND ifNull(a.state_hash != b.state_hash, false) AS other_state
        FROM paired AS p
        -- The run is named here and not joined by: so each side holds the rows of its own run only.
        LEFT JOIN sides AS x ON x.run_id = {a:String} AND x.step = p.step_a
        LEFT JOIN sides AS y ON y.run_id = {b:String} AND y.step = p.step_b
    ),
    prompted AS
    (
        WITH
            (of_a, of_b) -> CAST(
                arrayZip(
                    arrayResize(of_a.hash, greatest(length(of_a), length(of_b))),
                    arrayResize(of_b.hash, greatest(length(of_a), length(of_b))),
                    arrayResize(of_a.number, greatest(length(of_a), length(of_b))),
                    arrayResize(of_b.number, greatest(length(of_a), length(of_b)))
                ),
                'Array(Tuple(hash_a UInt128, hash_b UInt128, in_a UInt32, in_b UInt32))'
            ) AS side_by_side
        SELECT
            p.*,
            x.before.hash = y.before.hash AS from_one,
            -- The first message in which the prompts differ, as numbers in both runs; 0 where one has ended.
            arrayFirst(
                m -> m.hash_a != m.hash_b,
                if(
                    p.other_prompt,
                    arrayConcat(
                        side_by_side(
                            arraySlice(x.messages, if(from_one, 0, x.kept) + 1),
                            arraySlice(y.messages, if(from_one, 0, y.kept) + 1)
                        ),
                        if(
                            from_one,
                            [],
                            side_by_side(arraySlice(x.before, x.kept + 1), arraySlice(y.before, y.kept + 1))
                        )
                    ),
                    []
                )
            ) AS odd_message,
            odd_message.in_a != 0 OR odd_message.in_b != 0 AS other_input
        FROM joined AS p
        LEFT JOIN prompts AS x ON x.run_id = {a:String} AND x.step = p.step_a
        LEFT JOIN prompts AS y ON y.run_id = {b:String} AND y.step = p.step_b
    ),
    -- The values whose texts are shown: none of what is equal.
    wanted AS
    (
        SELECT
            *,
            arrayJoin(
                CAST(
                    arrayConcat(
                        if(other_system, [('system', 'a', '', a.system_value), ('system', 'b', '', b.system_value)], []),
                        if(other_tools, [('tools', 'a', '', a.tools_value), ('tools', 'b', '', b.tools_value)], []),
                        if(other_input, [('message', 'a', '', odd_message.in_a), ('message', 'b', '', odd_message.in_b)], []),
                        if(
                            both AND a.output_hash = b.output_hash,
                            [],
                            arrayConcat(
                                arrayMap(
                                    (n, i) -> ('answer', 'a', leftPad(toString(i), 9, '0'), n),
                                    a.output_values,
                                    arrayEnumerate(a.output_values)
                                ),
                                arrayMap(
                                    (n, i) -> ('answer', 'b', leftPad(toString(i), 9, '0'), n),
                                    b.output_values,
                                    arrayEnumerate(b.output_values)
                                )
                            )
                        ),
                        if(
                            other_state,
                            arrayConcat(
                                arrayMap((key, n) -> ('state', 'a', key, n), a.state_keys, a.state_values),
                                arrayMap((key, n) -> ('state', 'b', key, n), b.state_keys, b.state_values)
                            ),
                            []
                        ),
                        [('', 'a', '', 0)]
                    ),
                    'Array(Tuple(what String, side String, place String, number UInt32))'
                )
            ) AS want,
            if(want.side = 'a', {a:String}, {b:String}) AS of_run
        FROM prompted
    ),
    worded AS
    (
        SELECT
            w.position AS position,
            any(w.step_a) AS step_a,
            any(w.step_b) AS step_b,
            any(w.moved) AS moved,
            any(w.inherited) AS inherited,
            any(w.odd_message) AS odd_message,
            any(w.a) AS a,
            any(w.b) AS b,
            any(w.both) AS both,
            any(w.other_tool) AS other_tool,
            any(w.other_system) AS other_system,
            any(w.other_tools) AS other_tools,
            any(w.other_input) AS other_input,
            any(w.other_state) AS other_state,
            CAST(
                arraySort(
                    groupArray(
                        (
                            w.want.what,
                            w.want.side,
                            w.want.place,
                            t.key,
                            multiIf(
                                w.want.what = 'message', concat(t.role, ': ', t.text),
                                w.want.what = 'state', substringUTF8(t.text, 1, 200),
                                substringUTF8(t.text, 1, 500)
                            )
                        )
                    )
                ),
                'Array(Tuple(what String, side String, place String, key String, text String))'
            ) AS words
        FROM wanted AS w
        LEFT JOIN texts AS t ON t.run_id = w.of_run AND t.number = w.want.number
        GROUP BY w.position
    ),
    told_apart AS
    (
        SELECT
            * EXCEPT (words, other_system, other_tools),
            other_system AND words_of(words, 'system', 'a')[1].key != words_of(words, 'system', 'b')[1].key AS other_system,
            other_tools AND words_of(words, 'tools', 'a')[1].key != words_of(words, 'tools', 'b')[1].key AS other_tools,
            words_of(words, 'system', 'a')[1].text AS system_a,
            words_of(words, 'system', 'b')[1].text AS system_b,
            words_of(words, 'tools', 'a')[1].text AS tools_a,
            words_of(words, 'tools', 'b')[1].text AS tools_b,
            if(odd_message.in_a != 0, words_of(words, 'message', 'a')[1].text, NULL) AS message_a,
            if(odd_message.in_b != 0, words_of(words, 'message', 'b')[1].text, NULL) AS message_b,
            arrayStringConcat(words_of(words, 'answer', 'a').text, ' ') AS answer_a,
            arrayStringConcat(words_of(words, 'answer', 'b').text, ' ') AS answer_b,
            words_of(words, 'state', 'a') AS all_state_a,
            words_of(words, 'state', 'b') AS all_state_b,
            -- Of two states only the keys that differ.
            arrayFilter(e -> NOT has(arrayZip(all_state_b.place, all_state_b.key), (e.place, e.key)), all_state_a) AS state_a,
            arrayFilter(e -> NOT has(arrayZip(all_state_a.place, all_state_a.key), (e.place, e.key)), all_state_b) AS state_b
        FROM worded
    ),
    compared AS
    (
        SELECT
            position,
            step_a,
            step_b,
            inherited,
            if(step_a != 0, a.step_kind, b.step_kind) AS step_kind,
            if(step_a != 0, a.name, b.name) AS name,
            NOT both OR other_tool OR (
                isNull(a.arguments_hash) = isNull(b.arguments_hash)
                AND isNull(a.result_hash) = isNull(b.result_hash)
                AND isNull(a.state_hash) = isNull(b.state_hash)
            ) AS known,
            arrayFilter(
                d -> d.differs,
                CAST(
                    [
                        (
                            (NOT both AND NOT inherited) OR other_tool,
                            if(step_kind = 'model', 'answer', 'tool'),
                            '',
                            multiIf(
                                step_a = 0, NULL,
                                step_kind = 'model', answer_a,
                                concat(a.name, '(', ifNull(a.arguments, ''), ')')
                            ),
                            multiIf(
                                step_b = 0, NULL,
                                step_kind = 'model', answer_b,
                                concat(b.name, '(', ifNull(b.arguments, ''), ')')
                            )
                        ),
                        (
                            both AND moved,
                            'tool',
                            'order',
                            concat('at step ', toString(step_a)),
                            concat('at step ', toString(step_b))
                        ),
                        (
                            both AND NOT other_tool AND ifNull(a.arguments_hash != b.arguments_hash, false),
                            'arguments',
                            '',
                            a.arguments,
                            b.arguments
                        ),
                        (
                            both AND (
                                ifNull(a.request_model != b.request_model, false)
                                OR ifNull(a.provider != b.provider, false)
                                OR a.parameters_hash != b.parameters_hash
                            ),
                            'model',
                            '',
                            concat(ifNull(a.provider, '?'), ' ', ifNull(a.request_model, '?'), ' ', a.parameters),
                            concat(ifNull(b.provider, '?'), ' ', ifNull(b.request_model, '?'), ' ', b.parameters)
                        ),
                        (
                            other_system OR other_tools OR other_input,
                            'prompt',
                            trimRight(
                                concat(
                                    if(other_system, 'system ', ''),
                                    if(other_tools, 'tools ', ''),
                                    if(other_input, 'messages', '')
                                )
                            ),
                            multiIf(other_system, nullIf(system_a, ''), other_tools, nullIf(tools_a, ''), message_a),
                            multiIf(other_system, nullIf(system_b, ''), other_tools, nullIf(tools_b, ''), message_b)
                        ),
                        (
                            other_state AND (notEmpty(state_a) OR notEmpty(state_b)),
                            'state',
                            arrayStringConcat(arrayDistinct(arrayConcat(state_a.place, state_b.place)), ', '),
                            as_object(state_a),
                            as_object(state_b)
                        ),
                        (both AND a.output_hash != b.output_hash, 'answer', '', answer_a, answer_b),
                        (both AND NOT other_tool AND ifNull(a.result_hash != b.result_hash, false), 'result', '', a.result, b.result),
                        (
                            both AND (a.status != b.status OR a.error_type != b.error_type),
                            'error',
                            '',
                            trimRight(concat(a.status, ' ', a.error_type, ' ', a.error_message)),
                            trimRight(concat(b.status, ' ', b.error_type, ' ', b.error_message))
                        )
                    ],
                    'Array(Tuple(differs Bool, aspect String, detail String, value_a Nullable(String), value_b Nullable(String)))'
                )
            ) AS differences
        FROM told_apart
    )
SELECT
    toUInt32(position) AS position,
    nullIf(r.step_a, 0) AS step_a,
    nullIf(r.step_b, 0) AS step_b,
    CAST(
        multiIf(
            r.inherited OR empty(differences), 'same',
            r.step_b = 0, 'only_a',
            r.step_a = 0, 'only_b',
            difference.detail = 'order', 'moved',
            'changed'
        ),
        'LowCardinality(String)'
    ) AS change,
    CAST(difference.aspect, 'LowCardinality(String)') AS aspect,
    substringUTF8(difference.value_a, 1, 500) AS value_a,
    substringUTF8(difference.value_b, 1, 500) AS value_b,
    CAST(step_kind, 'LowCardinality(String)') AS step_kind,
    name,
    CAST(if(r.inherited, 'inherited', difference.detail), 'LowCardinality(String)') AS detail,
    CAST(known, 'Bool') AS known
FROM
(
    SELECT *, arrayJoin(emptyArrayToSingle(differences)) AS difference
    FROM compared
) AS r
SETTINGS join_use_nulls = 0, output_format_json_escape_forward_slashes = 0
