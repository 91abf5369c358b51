-- title: two runs side by side, one row per aligned position and aspect that differs
-- params: a String, b String
-- returns:
--   position UInt32: place in the alignment, from 1
--   step_a Nullable(UInt32): step of run a; NULL when only b has it
--   step_b Nullable(UInt32): step of run b; NULL when only a has it
--   change LowCardinality(String): same, changed, only_a or only_b
--   aspect LowCardinality(String): what differs: tool, arguments, result, answer, state, prompt, model, error; '' when nothing
--   value_a Nullable(String): what run a has, cut to 500 characters
--   value_b Nullable(String): what run b has, cut likewise
--   step_kind LowCardinality(String): model, tool, retrieval, memory, step or node
--   name String: the tool of a tool step, the agent of a model step
--   detail LowCardinality(String): of a prompt system, tools and messages, as they differ; of a state the keys that differ; order when the step only moved
--   known Bool: false when something here is known of one run only; that is not a difference, but not equality either
-- note: times, ids, token counts and instances are never compared. No rows when one of the runs does not exist.
-- example: SELECT position, step_a, step_b, change, aspect, value_a, value_b FROM run_diff(a = {run_id:String}, b = {other_run_id:String}) WHERE change != 'same' ORDER BY position
WITH
    -- A message in words: its text, the calls it asks for, the results it carries.
    message -> arrayStringConcat(
        arrayMap(
            p -> multiIf(
                JSONExtractString(p, 'type') = 'tool_call',
                concat(JSONExtractString(p, 'name'), '(', JSONExtractRaw(p, 'arguments'), ')'),
                JSONHas(p, 'response'),
                if(JSONType(p, 'response') = 'String', JSONExtractString(p, 'response'), JSONExtractRaw(p, 'response')),
                JSONHas(p, 'content'),
                if(JSONType(p, 'content') = 'String', JSONExtractString(p, 'content'), JSONExtractRaw(p, 'content')),
                p
            ),
            JSONExtractArrayRaw(message, 'parts')
        ),
        ' '
    ) AS words,
    pointer AS
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE run_id IN ({a:String}, {b:String}) AND NOT deleted
    ),
    -- The lists that are told in words: of a prompt or of a stated state. A state made of messages is the prompt again.
    told AS
    (
        SELECT DISTINCT run_id, number
        FROM
        (
            SELECT m.run_id AS run_id, arrayJoin([m.system_value, m.tools_value]) AS number
            FROM canon_model_calls AS m
            INNER JOIN pointer AS p ON p.tenant = m.tenant AND p.run_id = m.run_id AND p.generation = m.generation
            WHERE m.run_id IN ({a:String}, {b:String})
            UNION ALL
            SELECT s.run_id AS run_id, arrayJoin(s.before_values) AS number
            FROM canon_steps AS s
            INNER JOIN pointer AS p ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
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
            substringUTF8(if(v.kind = 'message', words(v.json), v.json), 1, 500) AS text
        FROM canon_values AS v
        INNER JOIN pointer AS p ON p.tenant = v.tenant AND p.run_id = v.run_id AND p.generation = v.generation
        WHERE v.run_id IN ({a:String}, {b:String}) AND v.kind != 'list'
        UNION ALL
        SELECT
            l.run_id AS run_id,
            l.number AS number,
            any(l.hash) AS hash,
            '' AS role,
            concat(
                '[',
                arrayStringConcat(arrayMap(e -> e.2, arraySort(e -> e.1, groupArray((l.element.1, e.text)))), ','),
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
                arrayJoin(arrayZip(arrayEnumerate(arraySlice(v.elements, 1, 20)), arraySlice(v.elements, 1, 20))) AS element
            FROM canon_values AS v
            INNER JOIN pointer AS p ON p.tenant = v.tenant AND p.run_id = v.run_id AND p.generation = v.generation
            INNER JOIN told AS t ON t.run_id = v.run_id AND t.number = v.number
            WHERE v.run_id IN ({a:String}, {b:String}) AND v.kind = 'list'
        ) AS l
        INNER JOIN
        (
            SELECT
                tenant,
                run_id,
                generation,
                number,
                substringUTF8(if(kind = 'message', words(json), json), 1, 500) AS text
            FROM canon_values
            WHERE run_id IN ({a:String}, {b:String})
        ) AS e
            ON e.tenant = l.tenant AND e.run_id = l.run_id AND e.generation = l.generation AND e.number = l.element.2
        GROUP BY l.run_id, l.number
    ),
    -- The input of each model call as (position, hash, number of the value); the hash as a number takes a third.
    prompts AS
    (
        SELECT
            c.run_id AS run_id,
            c.step AS step,
            arraySort(groupArray((c.place.1, reinterpretAsUInt128(unhex(v.hash)), c.number))) AS messages
        FROM
        (
            SELECT
                tenant,
                run_id,
                generation,
                step,
                arrayJoin(arrayZip(arrayEnumerate(input_values), input_values)) AS place,
                place.2 AS number
            FROM canon_model_calls
            WHERE run_id IN ({a:String}, {b:String})
        ) AS c
        INNER JOIN pointer AS p ON p.tenant = c.tenant AND p.run_id = c.run_id AND p.generation = c.generation
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
            if(isNull(state_hash), [], arrayZip(arrayMap(k -> toString(k), s.before_keys), s.before_values)) AS state
        FROM canon_steps AS s
        INNER JOIN pointer AS p ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
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
    -- What the alignment goes by, and nothing else.
    named AS
    (
        SELECT
            s.run_id AS run_id,
            s.step AS step,
            s.step_kind AS step_kind,
            multiIf(s.step_kind = 'model', ifNull(s.agent_name, ''), s.tool_call != 0, t.tool_name, s.name) AS name
        FROM canon_steps AS s
        INNER JOIN pointer AS p ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
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
                INNER JOIN pointer AS p ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
                WHERE s.run_id IN ({a:String}, {b:String}) AND s.step_kind = 'model' AND ifNull(s.agent_name, '') != ''
            ) AS agents_known,
            (step, concat(step_kind, '\0', if(step_kind = 'model' AND NOT agents_known, '', name))) AS entry
        SELECT
            arraySort(groupArrayIf(entry, run_id = {a:String})) AS steps_a,
            arraySort(groupArrayIf(entry, run_id = {b:String})) AS steps_b
        FROM named
        HAVING (SELECT uniqExact(run_id) FROM pointer) = if({a:String} = {b:String}, 1, 2)
    ),
    keyed AS
    (
        SELECT
            steps_a.2 AS keys_a,
            steps_b.2 AS keys_b,
            toInt64(length(steps_a)) AS length_a,
            toInt64(length(steps_b)) AS length_b,
            least(length_a, length_b) AS shorter
        FROM listed
    ),
    headed AS
    (
        SELECT
            keys_a,
            keys_b,
            length_a,
            length_b,
            shorter,
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
            keys_a,
            keys_b,
            length_a,
            length_b,
            head,
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
            length_a,
            length_b,
            head,
            tail,
            arraySlice(keys_a, head + 1, length_a - head - tail) AS middle_a,
            arraySlice(keys_b, head + 1, length_b - head - tail) AS middle_b
        FROM tailed
    ),
    -- All of both middles as (key with its occurrence, side, index), sorted: partners stand side by side. No lambda from
    -- here on uses a whole array: it would be copied for each element.
    merged AS
    (
        SELECT
            length_a,
            length_b,
            head,
            tail,
            arraySort(
                arrayConcat(
                    arrayMap(
                        (k, n, i) -> (concat(k, '\0', toString(n)), toUInt8(0), toInt64(i)),
                        middle_a,
                        arrayEnumerateUniq(middle_a),
                        arrayEnumerate(middle_a)
                    ),
                    arrayMap(
                        (k, n, i) -> (concat(k, '\0', toString(n)), toUInt8(1), toInt64(i)),
                        middle_b,
                        arrayEnumerateUniq(middle_b),
                        arrayEnumerate(middle_b)
                    )
                )
            ) AS entries
        FROM middles
    ),
    -- Index by index the partner on the other side, 0 where there is none.
    partners AS
    (
        SELECT
            length_a,
            length_b,
            head,
            tail,
            arrayMap(
                x -> x.2,
                arraySort(
                    arrayFilter(
                        x -> x.3 = 0,
                        arrayMap(
                            (x, next) -> (x.3, if(x.1 = next.1, next.3, 0), x.2),
                            entries,
                            arrayShiftLeft(entries, 1)
                        )
                    )
                )
            ) AS partner_a,
            arrayMap(
                x -> x.2,
                arraySort(
                    arrayFilter(
                        x -> x.3 = 1,
                        arrayMap(
                            (x, last) -> (x.3, if(x.1 = last.1, last.3, 0), x.2),
                            entries,
                            arrayShiftRight(entries, 1)
                        )
                    )
                )
            ) AS partner_b
        FROM merged
    ),
    paired_off AS
    (
        SELECT
            length_a,
            length_b,
            head,
            tail,
            partner_a,
            partner_b,
            arrayFilter((i, partner) -> partner != 0, arrayEnumerate(partner_a), partner_a) AS common_a,
            arrayFilter(partner -> partner != 0, partner_a) AS common_b
        FROM partners
    ),
    aligned AS
    (
        SELECT
            -- (zone, order in it, of a, index in a, index in b, whether it moved)
            arraySort(
                arrayConcat(
                    CAST(
                        arrayMap(i -> (0, i, 1, i, i, 0), range(1, head + 1)),
                        'Array(Tuple(Int64, Int64, Int64, Int64, Int64, Int64))'
                    ),
                    CAST(
                        arrayMap(
                            (i, partner, in_order) -> (1, i, 1, head + i, head + partner, partner != in_order),
                            common_a,
                            common_b,
                            arraySort(common_b)
                        ),
                        'Array(Tuple(Int64, Int64, Int64, Int64, Int64, Int64))'
                    ),
                    CAST(
                        arrayMap(
                            i -> (1, i, 1, head + i, 0, 0),
                            arrayFilter((i, partner) -> partner = 0, arrayEnumerate(partner_a), partner_a)
                        ),
                        'Array(Tuple(Int64, Int64, Int64, Int64, Int64, Int64))'
                    ),
                    -- What only b has stands before the next step that both have.
                    CAST(
                        arrayFilter(
                            x -> x.5 != 0,
                            arrayMap(
                                (partner, i, next) -> (
                                    1,
                                    if(next = 0, 4294967295, next),
                                    0,
                                    0,
                                    if(partner = 0, head + toInt64(i), 0),
                                    0
                                ),
                                partner_b,
                                arrayEnumerate(partner_b),
                                arrayReverseFill(x -> x != 0, partner_b)
                            )
                        ),
                        'Array(Tuple(Int64, Int64, Int64, Int64, Int64, Int64))'
                    ),
                    CAST(
                        arrayMap(
                            i -> (2, i, 0, length_a - tail + i, length_b - tail + i, 0),
                            range(1, tail + 1)
                        ),
                        'Array(Tuple(Int64, Int64, Int64, Int64, Int64, Int64))'
                    )
                )
            ) AS places
        FROM paired_off
    ),
    placed AS
    (
        SELECT arrayJoin(arrayZip(arrayEnumerate(places), places)) AS place
        FROM aligned
    ),
    paired AS
    (
        SELECT
            place.1 AS position,
            -- Steps count from 1 without a gap, as the indexes do.
            toUInt32(place.2.4) AS step_a,
            toUInt32(place.2.5) AS step_b,
            place.2.6 != 0 AS moved
        FROM placed
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
                o -> o.1 != o.2,
                arrayZip(
                    arrayResize(u.messages.2, greatest(length(u.messages), length(w.messages))),
                    arrayResize(w.messages.2, greatest(length(u.messages), length(w.messages))),
                    arrayResize(u.messages.3, greatest(length(u.messages), length(w.messages)), 0),
                    arrayResize(w.messages.3, greatest(length(u.messages), length(w.messages)), 0)
                )
            ) AS odd
        FROM paired AS p
        -- The run is named here and not joined by: so each side holds the rows of its own run only.
        LEFT JOIN prompts AS u ON u.run_id = {a:String} AND u.step = p.step_a
        LEFT JOIN prompts AS w ON w.run_id = {b:String} AND w.step = p.step_b
    ),
    joined AS
    (
        SELECT
            p.position AS position,
            p.step_a AS step_a,
            p.step_b AS step_b,
            p.moved AS moved,
            p.step_a != 0 AND p.step_b != 0 AS both,
            x.system_hash != y.system_hash AS other_system,
            x.tools_hash != y.tools_hash AS other_tools,
            x.input_hash != y.input_hash AS other_input,
            ifNull(x.state_hash != y.state_hash, false) AS other_state,
            x.step_kind AS step_kind_a,
            y.step_kind AS step_kind_b,
            x.name AS name_a,
            y.name AS name_b,
            x.status AS status_a,
            y.status AS status_b,
            x.error_type AS error_type_a,
            y.error_type AS error_type_b,
            x.error_message AS error_message_a,
            y.error_message AS error_message_b,
            x.arguments_hash AS arguments_hash_a,
            y.arguments_hash AS arguments_hash_b,
            x.result_hash AS result_hash_a,
            y.result_hash AS result_hash_b,
            x.arguments AS arguments_a,
            y.arguments AS arguments_b,
            x.result AS result_a,
            y.result AS result_b,
            x.provider AS provider_a,
            y.provider AS provider_b,
            x.request_model AS request_model_a,
            y.request_model AS request_model_b,
            x.parameters AS parameters_a,
            y.parameters AS parameters_b,
            x.parameters_hash AS parameters_hash_a,
            y.parameters_hash AS parameters_hash_b,
            x.output_hash AS output_hash_a,
            y.output_hash AS output_hash_b,
            x.state_hash AS state_hash_a,
            y.state_hash AS state_hash_b,
            p.odd.3 != 0 AS message_in_a,
            p.odd.4 != 0 AS message_in_b,
            -- The values whose texts are shown, as (what, of b, place or key, number): none of what is equal.
            arrayConcat(
                if(both AND other_system, [('system', 0, '', x.system_value), ('system', 1, '', y.system_value)], []),
                if(both AND other_tools, [('tools', 0, '', x.tools_value), ('tools', 1, '', y.tools_value)], []),
                if(both AND other_input, [('message', 0, '', p.odd.3), ('message', 1, '', p.odd.4)], []),
                if(
                    both AND x.output_hash = y.output_hash,
                    [],
                    arrayConcat(
                        arrayMap((n, i) -> ('answer', 0, leftPad(toString(i), 9, '0'), n), x.output_values, arrayEnumerate(x.output_values)),
                        arrayMap((n, i) -> ('answer', 1, leftPad(toString(i), 9, '0'), n), y.output_values, arrayEnumerate(y.output_values))
                    )
                ),
                if(
                    both AND other_state,
                    arrayConcat(
                        arrayMap(e -> ('state', 0, e.1, e.2), x.state),
                        arrayMap(e -> ('state', 1, e.1, e.2), y.state)
                    ),
                    []
                ),
                [('', 0, '', 0)]
            ) AS wanted
        FROM prompted AS p
        LEFT JOIN facts AS x ON x.run_id = {a:String} AND x.step = p.step_a
        LEFT JOIN facts AS y ON y.run_id = {b:String} AND y.step = p.step_b
    ),
    -- The same with those texts, as (what, of b, place or key, hash, text).
    shown AS
    (
        SELECT
            f.position AS position,
            any(f.step_a) AS step_a,
            any(f.step_b) AS step_b,
            any(f.moved) AS moved,
            any(f.both) AS both,
            any(f.other_system) AS other_system,
            any(f.other_tools) AS other_tools,
            any(f.other_input) AS other_input,
            any(f.other_state) AS other_state,
            any(f.message_in_a) AS message_in_a,
            any(f.message_in_b) AS message_in_b,
            any(f.step_kind_a) AS step_kind_a,
            any(f.step_kind_b) AS step_kind_b,
            any(f.name_a) AS name_a,
            any(f.name_b) AS name_b,
            any(f.status_a) AS status_a,
            any(f.status_b) AS status_b,
            any(f.error_type_a) AS error_type_a,
            any(f.error_type_b) AS error_type_b,
            any(f.error_message_a) AS error_message_a,
            any(f.error_message_b) AS error_message_b,
            any(f.arguments_hash_a) AS arguments_hash_a,
            any(f.arguments_hash_b) AS arguments_hash_b,
            any(f.result_hash_a) AS result_hash_a,
            any(f.result_hash_b) AS result_hash_b,
            any(f.arguments_a) AS arguments_a,
            any(f.arguments_b) AS arguments_b,
            any(f.result_a) AS result_a,
            any(f.result_b) AS result_b,
            any(f.provider_a) AS provider_a,
            any(f.provider_b) AS provider_b,
            any(f.request_model_a) AS request_model_a,
            any(f.request_model_b) AS request_model_b,
            any(f.parameters_a) AS parameters_a,
            any(f.parameters_b) AS parameters_b,
            any(f.parameters_hash_a) AS parameters_hash_a,
            any(f.parameters_hash_b) AS parameters_hash_b,
            any(f.output_hash_a) AS output_hash_a,
            any(f.output_hash_b) AS output_hash_b,
            any(f.state_hash_a) AS state_hash_a,
            any(f.state_hash_b) AS state_hash_b,
            arraySort(
                groupArray(
                    (
                        toString(f.want.1),
                        f.want.2,
                        f.want.3,
                        t.hash,
                        multiIf(
                            f.want.1 = 'message', concat(t.role, ': ', t.text),
                            f.want.1 = 'state', substringUTF8(t.text, 1, 200),
                            substringUTF8(t.text, 1, 500)
                        )
                    )
                )
            ) AS said
        FROM
        (
            SELECT
                position,
                step_a,
                step_b,
                moved,
                both,
                other_system,
                other_tools,
                other_input,
                other_state,
                message_in_a,
                message_in_b,
                step_kind_a,
                step_kind_b,
                name_a,
                name_b,
                status_a,
                status_b,
                error_type_a,
                error_type_b,
                error_message_a,
                error_message_b,
                arguments_hash_a,
                arguments_hash_b,
                result_hash_a,
                result_hash_b,
                arguments_a,
                arguments_b,
                result_a,
                result_b,
                provider_a,
                provider_b,
                request_model_a,
                request_model_b,
                parameters_a,
                parameters_b,
                parameters_hash_a,
                parameters_hash_b,
                output_hash_a,
                output_hash_b,
                state_hash_a,
                state_hash_b,
                arrayJoin(wanted) AS want,
                if(want.2 = 0, {a:String}, {b:String}) AS of_run
            FROM joined
        ) AS f
        LEFT JOIN texts AS t ON t.run_id = f.of_run AND t.number = f.want.4
        GROUP BY f.position
    ),
    told_apart AS
    (
        SELECT
            position,
            step_a,
            step_b,
            moved,
            both,
            other_system,
            other_tools,
            other_input,
            other_state,
            step_kind_a,
            step_kind_b,
            name_a,
            name_b,
            status_a,
            status_b,
            error_type_a,
            error_type_b,
            error_message_a,
            error_message_b,
            arguments_hash_a,
            arguments_hash_b,
            result_hash_a,
            result_hash_b,
            arguments_a,
            arguments_b,
            result_a,
            result_b,
            provider_a,
            provider_b,
            request_model_a,
            request_model_b,
            parameters_a,
            parameters_b,
            parameters_hash_a,
            parameters_hash_b,
            output_hash_a,
            output_hash_b,
            state_hash_a,
            state_hash_b,
            arrayFirst(e -> e.1 = 'system' AND e.2 = 0, said).5 AS system_a,
            arrayFirst(e -> e.1 = 'system' AND e.2 = 1, said).5 AS system_b,
            arrayFirst(e -> e.1 = 'tools' AND e.2 = 0, said).5 AS tools_a,
            arrayFirst(e -> e.1 = 'tools' AND e.2 = 1, said).5 AS tools_b,
            if(message_in_a, arrayFirst(e -> e.1 = 'message' AND e.2 = 0, said).5, NULL) AS message_a,
            if(message_in_b, arrayFirst(e -> e.1 = 'message' AND e.2 = 1, said).5, NULL) AS message_b,
            arrayStringConcat(arrayMap(e -> e.5, arrayFilter(e -> e.1 = 'answer' AND e.2 = 0, said)), ' ') AS answer_a,
            arrayStringConcat(arrayMap(e -> e.5, arrayFilter(e -> e.1 = 'answer' AND e.2 = 1, said)), ' ') AS answer_b,
            arrayFilter(e -> e.1 = 'state' AND e.2 = 0, said) AS all_state_a,
            arrayFilter(e -> e.1 = 'state' AND e.2 = 1, said) AS all_state_b,
            -- Of two states only the keys that differ, as (key, text).
            arrayMap(
                e -> (e.3, e.5),
                arrayFilter(e -> NOT has(arrayZip(all_state_b.3, all_state_b.4), (e.3, e.4)), all_state_a)
            ) AS odd_state_a,
            arrayMap(
                e -> (e.3, e.5),
                arrayFilter(e -> NOT has(arrayZip(all_state_a.3, all_state_a.4), (e.3, e.4)), all_state_b)
            ) AS odd_state_b
        FROM shown
    ),
    compared AS
    (
        SELECT
            position,
            step_a,
            step_b,
            if(step_a != 0, step_kind_a, step_kind_b) AS step_kind,
            if(step_a != 0, name_a, name_b) AS name,
            NOT both OR (
                isNull(arguments_hash_a) = isNull(arguments_hash_b)
                AND isNull(result_hash_a) = isNull(result_hash_b)
                AND isNull(state_hash_a) = isNull(state_hash_b)
            ) AS known,
            -- (differs, aspect, detail, value of a, value of b)
            arrayFilter(
                d -> d.1,
                [
                    (
                        NOT both,
                        if(step_kind = 'model', 'answer', 'tool'),
                        '',
                        multiIf(
                            step_a = 0, NULL,
                            step_kind = 'model', answer_a,
                            concat(name_a, '(', ifNull(arguments_a, ''), ')')
                        ),
                        multiIf(
                            step_b = 0, NULL,
                            step_kind = 'model', answer_b,
                            concat(name_b, '(', ifNull(arguments_b, ''), ')')
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
                        both AND ifNull(arguments_hash_a != arguments_hash_b, false),
                        'arguments',
                        '',
                        arguments_a,
                        arguments_b
                    ),
                    (
                        both AND (
                            ifNull(request_model_a != request_model_b, false)
                            OR ifNull(provider_a != provider_b, false)
                            OR parameters_hash_a != parameters_hash_b
                        ),
                        'model',
                        '',
                        concat(ifNull(provider_a, '?'), ' ', ifNull(request_model_a, '?'), ' ', parameters_a),
                        concat(ifNull(provider_b, '?'), ' ', ifNull(request_model_b, '?'), ' ', parameters_b)
                    ),
                    (
                        both AND (other_system OR other_tools OR other_input),
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
                        both AND other_state,
                        'state',
                        arrayStringConcat(arrayDistinct(arrayConcat(odd_state_a.1, odd_state_b.1)), ', '),
                        concat('{', arrayStringConcat(arrayMap(e -> concat(toJSONString(e.1), ':', e.2), odd_state_a), ','), '}'),
                        concat('{', arrayStringConcat(arrayMap(e -> concat(toJSONString(e.1), ':', e.2), odd_state_b), ','), '}')
                    ),
                    (both AND output_hash_a != output_hash_b, 'answer', '', answer_a, answer_b),
                    (both AND ifNull(result_hash_a != result_hash_b, false), 'result', '', result_a, result_b),
                    (
                        both AND (status_a != status_b OR error_type_a != error_type_b),
                        'error',
                        '',
                        trimRight(concat(status_a, ' ', error_type_a, ' ', error_message_a)),
                        trimRight(concat(status_b, ' ', error_type_b, ' ', error_message_b))
                    )
                ]
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
    CAST(difference.2, 'LowCardinality(String)') AS aspect,
    substringUTF8(difference.4, 1, 500) AS value_a,
    substringUTF8(difference.5, 1, 500) AS value_b,
    CAST(step_kind, 'LowCardinality(String)') AS step_kind,
    name,
    CAST(difference.3, 'LowCardinality(String)') AS detail,
    CAST(known, 'Bool') AS known
FROM
(
    SELECT
        position,
        step_a,
        step_b,
        step_kind,
        name,
        known,
        differences,
        arrayJoin(if(empty(differences), [(false, '', '', NULL, NULL)], differences)) AS difference
    FROM compared
) AS r
SETTINGS join_use_nulls = 0, output_format_json_escape_forward_slashes = 0
