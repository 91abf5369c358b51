-- title: two runs side by side, one row per aligned position and differing aspect
-- params: a String, b String
-- returns:
--   position UInt32: place in the alignment, from 1
--   step_a Nullable(UInt32): step of run a; NULL if only b has it
--   step_b Nullable(UInt32): step of run b; NULL if only a has it
--   change LowCardinality(String): same, changed, only_a or only_b
--   aspect LowCardinality(String): what differs: tool, arguments, result, answer, state, prompt, model, error; '' if nothing
--   value_a Nullable(String): what run a has, cut to 500 characters
--   value_b Nullable(String): what run b has, also cut
--   step_kind LowCardinality(String): model, tool, retrieval, memory, step or node
--   name String: the tool of a tool step, the agent of a model step
--   detail LowCardinality(String): for a prompt, which of system, tools and messages differ; for a state, the keys that differ; order if the step only moved
--   known Bool: false if something here is known for only one run; that is neither a difference nor equality
-- note: times, ids, token counts and instances are never compared. No rows if one of the runs does not exist.
-- example: SELECT position, step_a, step_b, change, aspect, value_a, value_b FROM run_diff(a = {run_id:String}, b = {other_run_id:String}) WHERE change != 'same' ORDER BY position
WITH
    -- Of the texts that are shown, those of one thing and one side.
    (words, what, side) -> arrayFilter(w -> w.what = what AND w.side = side, words) AS words_of,
    state -> concat('{', arrayStringConcat(arrayMap(s -> concat(toJSONString(s.place), ':', s.text), state), ','), '}') AS as_object,
    -- Of one side, index by index, the index of the neighbour when that has the same key, else 0.
    (side, entries, neighbours) -> arrayMap(
        pair -> pair.partner,
        arraySort(
            pair -> pair.index,
            arrayFilter(
                pair -> pair.side = side,
                CAST(
                    arrayMap((x, y) -> (x.side, x.index, if(x.key = y.key, y.index, 0)), entries, neighbours),
                    'Array(Tuple(side String, index Int64, partner Int64))'
                )
            )
        )
    ) AS partners_of,
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
            v.hash AS hash,
            v.role AS role,
            substringUTF8(if(v.kind = 'message', retrospan_message_text(v.json), v.json), 1, 500) AS text
        FROM canon_values AS v
        INNER JOIN current_generations USING (tenant, run_id, generation)
        WHERE v.run_id IN ({a:String}, {b:String}) AND v.kind != 'list'
        UNION ALL
        SELECT
            l.run_id AS run_id,
            l.number AS number,
            any(l.hash) AS hash,
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
                substringUTF8(if(kind = 'message', retrospan_message_text(json), json), 1, 500) AS text
            FROM canon_values
            WHERE run_id IN ({a:String}, {b:String})
        ) AS e
            ON e.tenant = l.tenant AND e.run_id = l.run_id AND e.generation = l.generation AND e.number = l.element.number
        GROUP BY l.run_id, l.number
    ),
    -- The input of each model call; the hash as a number takes a third.
    prompts AS
    (
        SELECT
            c.run_id AS run_id,
            c.step AS step,
            CAST(
                arraySort(groupArray((c.message.place, reinterpretAsUInt128(unhex(v.hash)), c.number))),
                'Array(Tuple(place UInt32, hash UInt128, number UInt32))'
            ) AS messages
        FROM
        (
            SELECT
                tenant,
                run_id,
                generation,
                step,
                arrayJoin(
                    CAST(arrayZip(arrayEnumerate(input_values), input_values), 'Array(Tuple(place UInt32, number UInt32))')
                ) AS message,
                message.number AS number
            FROM canon_model_calls
            WHERE run_id IN ({a:String}, {b:String})
        ) AS c
        INNER JOIN current_generations USING (tenant, run_id, generation)
        INNER JOIN canon_values AS v
            ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation AND v.number = c.number
        WHERE v.run_id IN ({a:String}, {b:String})
        GROUP BY c.tenant, c.run_id, c.generation, c.step
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
            m.output_hash AS output_hash,
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
                arguments_hash,
                result_hash,
                substringUTF8(canon_tool_calls.arguments, 1, 500) AS arguments,
                substringUTF8(canon_tool_calls.result, 1, 500) AS result
            FROM canon_tool_calls
            WHERE run_id IN ({a:String}, {b:String})
        ) AS t
            ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
        LEFT JOIN canon_model_calls AS m
            ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.ordinal = s.model_call
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
            multiIf(s.step_kind = 'model', ifNull(s.agent_name, ''), s.tool_call != 0, t.tool_name, s.name) AS name
        FROM canon_steps AS s
        INNER JOIN current_generations USING (tenant, run_id, generation)
        LEFT JOIN canon_tool_calls AS t
            ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
        WHERE s.run_id IN ({a:String}, {b:String})
    ),
    -- Alignment: common head, common tail, and between them by (kind, name, occurrence). One row, stage by stage:
    -- an alias used twice in one SELECT would be worked out twice.
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
            concat(step_kind, '\0', if(step_kind = 'model' AND NOT agents_known, '', name)) AS key
        SELECT
            CAST(arraySort(groupArrayIf((step, key), run_id = {a:String})), 'Array(Tuple(step UInt32, key String))') AS steps_a,
            CAST(arraySort(groupArrayIf((step, key), run_id = {b:String})), 'Array(Tuple(step UInt32, key String))') AS steps_b
        FROM named
        HAVING (SELECT uniqExact(run_id) FROM current_generations) = if({a:String} = {b:String}, 1, 2)
    ),
    keyed AS
    (
        SELECT
            steps_a.key AS keys_a,
            steps_b.key AS keys_b,
            toInt64(length(steps_a)) AS length_a,
            toInt64(length(steps_b)) AS length_b,
            least(length_a, length_b) AS shorter
        FROM listed
    ),
    headed AS
    (
        SELECT
            *,
            toInt64(
                arrayFirstIndex(
                    (x, y) -> x != y,
                    arrayPushBack(arraySlice(keys_a, 1, shorter), 'end of a'),
                    arrayPushBack(arraySlice(keys_b, 1, shorter), 'end of b')
                )
            ) - 1 AS head
        FROM keyed
    ),
    tailed AS
    (
        SELECT
            *,
            toInt64(
                arrayFirstIndex(
                    (x, y) -> x != y,
                    arrayPushBack(arraySlice(arrayReverse(keys_a), 1, shorter - head), 'start of a'),
                    arrayPushBack(arraySlice(arrayReverse(keys_b), 1, shorter - head), 'start of b')
                )
            ) - 1 AS tail
        FROM headed
    ),
    middles AS
    (
        SELECT
            * EXCEPT (keys_a, keys_b, shorter),
            arraySlice(keys_a, head + 1, length_a - head - tail) AS middle_a,
            arraySlice(keys_b, head + 1, length_b - head - tail) AS middle_b
        FROM tailed
    ),
    -- All of both middles, sorted: partners stand side by side. No lambda from here on uses a whole array: it would be
    -- copied for each element.
    merged AS
    (
        SELECT
            * EXCEPT (middle_a, middle_b),
            CAST(
                arraySort(
                    arrayConcat(
                        arrayMap(
                            (key, occurrence, i) -> (concat(key, '\0', toString(occurrence)), 'a', toInt64(i)),
                            middle_a,
                            arrayEnumerateUniq(middle_a),
                            arrayEnumerate(middle_a)
                        ),
                        arrayMap(
                            (key, occurrence, i) -> (concat(key, '\0', toString(occurrence)), 'b', toInt64(i)),
                            middle_b,
                            arrayEnumerateUniq(middle_b),
                            arrayEnumerate(middle_b)
                        )
                    )
                ),
                'Array(Tuple(key String, side String, index Int64))'
            ) AS entries
        FROM middles
    ),
    -- Index by index the partner on the other side, 0 where there is none.
    partners AS
    (
        SELECT
            * EXCEPT (entries),
            partners_of('a', entries, arrayShiftLeft(entries, 1)) AS partner_a,
            partners_of('b', entries, arrayShiftRight(entries, 1)) AS partner_b
        FROM merged
    ),
    paired_off AS
    (
        SELECT
            *,
            arrayFilter((i, partner) -> partner != 0, arrayEnumerate(partner_a), partner_a) AS common_a,
            arrayFilter(partner -> partner != 0, partner_a) AS common_b
        FROM partners
    ),
    -- The zone is 0 for the head, 1 for the middle, 2 for the tail. In the middle what a has stands in its order, and
    -- what only b has before the next step that both have.
    aligned AS
    (
        WITH 'Array(Tuple(zone Int64, place Int64, of_a Int64, step_a Int64, step_b Int64, moved Int64))' AS places_type
        SELECT
            arraySort(
                arrayConcat(
                    CAST(arrayMap(i -> (0, i, 1, i, i, 0), range(1, head + 1)), places_type),
                    CAST(
                        arrayMap(
                            (i, partner, in_order) -> (1, i, 1, head + i, head + partner, partner != in_order),
                            common_a,
                            common_b,
                            arraySort(common_b)
                        ),
                        places_type
                    ),
                    CAST(
                        arrayMap(
                            i -> (1, i, 1, head + i, 0, 0),
                            arrayFilter((i, partner) -> partner = 0, arrayEnumerate(partner_a), partner_a)
                        ),
                        places_type
                    ),
                    CAST(
                        arrayFilter(
                            (place, partner) -> partner = 0,
                            arrayMap(
                                (i, next) -> (1, if(next = 0, 4294967295, next), 0, 0, head + toInt64(i), 0),
                                arrayEnumerate(partner_b),
                                arrayReverseFill(x -> x != 0, partner_b)
                            ),
                            partner_b
                        ),
                        places_type
                    ),
                    CAST(
                        arrayMap(i -> (2, i, 0, length_a - tail + i, length_b - tail + i, 0), range(1, tail + 1)),
                        places_type
                    )
                )
            ) AS places
        FROM paired_off
    ),
    paired AS
    (
        -- Steps count from 1 without a gap, as the indexes do.
        SELECT
            position,
            toUInt32(place.step_a) AS step_a,
            toUInt32(place.step_b) AS step_b,
            place.moved != 0 AS moved
        FROM aligned
        ARRAY JOIN places AS place, arrayEnumerate(places) AS position
    ),
    prompted AS
    (
        SELECT
            p.position AS position,
            p.step_a AS step_a,
            p.step_b AS step_b,
            p.moved AS moved,
            -- The first message in which the prompts differ, as numbers in both runs; 0 where one prompt has ended.
            arrayFirst(
                m -> m.hash_a != m.hash_b,
                CAST(
                    arrayZip(
                        arrayResize(x.messages.hash, greatest(length(x.messages), length(y.messages))),
                        arrayResize(y.messages.hash, greatest(length(x.messages), length(y.messages))),
                        arrayResize(x.messages.number, greatest(length(x.messages), length(y.messages))),
                        arrayResize(y.messages.number, greatest(length(x.messages), length(y.messages)))
                    ),
                    'Array(Tuple(hash_a UInt128, hash_b UInt128, in_a UInt32, in_b UInt32))'
                )
            ) AS odd_message
        FROM paired AS p
        -- The run is named here and not joined by: so each side holds the rows of its own run only.
        LEFT JOIN prompts AS x ON x.run_id = {a:String} AND x.step = p.step_a
        LEFT JOIN prompts AS y ON y.run_id = {b:String} AND y.step = p.step_b
    ),
    joined AS
    (
        SELECT
            p.position AS position,
            p.step_a AS step_a,
            p.step_b AS step_b,
            p.moved AS moved,
            p.odd_message AS odd_message,
            x.fact AS a,
            y.fact AS b,
            p.step_a != 0 AND p.step_b != 0 AS both,
            both AND a.system_hash != b.system_hash AS other_system,
            both AND a.tools_hash != b.tools_hash AS other_tools,
            both AND a.input_hash != b.input_hash AS other_input,
            both AND ifNull(a.state_hash != b.state_hash, false) AS other_state
        FROM prompted AS p
        LEFT JOIN sides AS x ON x.run_id = {a:String} AND x.step = p.step_a
        LEFT JOIN sides AS y ON y.run_id = {b:String} AND y.step = p.step_b
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
        FROM joined
    ),
    worded AS
    (
        SELECT
            w.position AS position,
            any(w.step_a) AS step_a,
            any(w.step_b) AS step_b,
            any(w.moved) AS moved,
            any(w.odd_message) AS odd_message,
            any(w.a) AS a,
            any(w.b) AS b,
            any(w.both) AS both,
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
                            t.hash,
                            multiIf(
                                w.want.what = 'message', concat(t.role, ': ', t.text),
                                w.want.what = 'state', substringUTF8(t.text, 1, 200),
                                substringUTF8(t.text, 1, 500)
                            )
                        )
                    )
                ),
                'Array(Tuple(what String, side String, place String, hash String, text String))'
            ) AS words
        FROM wanted AS w
        LEFT JOIN texts AS t ON t.run_id = w.of_run AND t.number = w.want.number
        GROUP BY w.position
    ),
    told_apart AS
    (
        SELECT
            * EXCEPT (words),
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
            arrayFilter(e -> NOT has(arrayZip(all_state_b.place, all_state_b.hash), (e.place, e.hash)), all_state_a) AS state_a,
            arrayFilter(e -> NOT has(arrayZip(all_state_a.place, all_state_a.hash), (e.place, e.hash)), all_state_b) AS state_b
        FROM worded
    ),
    compared AS
    (
        SELECT
            position,
            step_a,
            step_b,
            if(step_a != 0, a.step_kind, b.step_kind) AS step_kind,
            if(step_a != 0, a.name, b.name) AS name,
            NOT both OR (
                isNull(a.arguments_hash) = isNull(b.arguments_hash)
                AND isNull(a.result_hash) = isNull(b.result_hash)
                AND isNull(a.state_hash) = isNull(b.state_hash)
            ) AS known,
            arrayFilter(
                d -> d.differs,
                CAST(
                    [
                        (
                            NOT both,
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
                            both AND ifNull(a.arguments_hash != b.arguments_hash, false),
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
                            other_state,
                            'state',
                            arrayStringConcat(arrayDistinct(arrayConcat(state_a.place, state_b.place)), ', '),
                            as_object(state_a),
                            as_object(state_b)
                        ),
                        (both AND a.output_hash != b.output_hash, 'answer', '', answer_a, answer_b),
                        (both AND ifNull(a.result_hash != b.result_hash, false), 'result', '', a.result, b.result),
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
        multiIf(r.step_b = 0, 'only_a', r.step_a = 0, 'only_b', notEmpty(differences), 'changed', 'same'),
        'LowCardinality(String)'
    ) AS change,
    CAST(difference.aspect, 'LowCardinality(String)') AS aspect,
    substringUTF8(difference.value_a, 1, 500) AS value_a,
    substringUTF8(difference.value_b, 1, 500) AS value_b,
    CAST(step_kind, 'LowCardinality(String)') AS step_kind,
    name,
    CAST(difference.detail, 'LowCardinality(String)') AS detail,
    CAST(known, 'Bool') AS known
FROM
(
    SELECT *, arrayJoin(emptyArrayToSingle(differences)) AS difference
    FROM compared
) AS r
SETTINGS join_use_nulls = 0, output_format_json_escape_forward_slashes = 0
