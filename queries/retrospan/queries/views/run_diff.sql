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
--   known Bool: false when something here is known of one run only; that is no difference, but not equality either
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
    -- A value is its text, or the texts of its elements in brackets.
    (n, texts, elements, lists) -> if(
        lists[n],
        concat('[', arrayStringConcat(arrayMap(e -> texts[e], elements[n]), ','), ']'),
        texts[n]
    ) AS value_text,
    pointer AS
    (
        SELECT tenant, run_id, generation
        FROM canon_runs FINAL
        WHERE run_id IN ({a:String}, {b:String}) AND NOT deleted
    ),
    -- A run's values as arrays of short texts, so that value n is element n.
    said AS
    (
        SELECT
            run_id,
            numbered.2 AS texts,
            numbered.3 AS hashes,
            numbered.4 AS roles,
            numbered.5 AS elements,
            numbered.6 AS lists
        FROM
        (
            SELECT run_id, arraySort(x -> x.1, groupArray((number, text, hash, role, elements, is_list))) AS numbered
            FROM
            (
                SELECT
                    v.run_id AS run_id,
                    v.number AS number,
                    v.hash AS hash,
                    v.role AS role,
                    v.elements AS elements,
                    v.kind = 'list' AS is_list,
                    substringUTF8(if(v.kind = 'message', words(v.json), v.json), 1, 500) AS text
                FROM canon_values AS v
                INNER JOIN pointer AS p
                    ON p.tenant = v.tenant AND p.run_id = v.run_id AND p.generation = v.generation
                WHERE v.run_id IN ({a:String}, {b:String})
            )
            GROUP BY run_id
        )
    ),
    -- The input of each model call as (position, hash, number of the value).
    prompts AS
    (
        SELECT
            c.run_id AS run_id,
            c.step AS step,
            arraySort(groupArray((c.place.1, v.hash, c.number))) AS messages
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
            if(s.tool_call != 0, substringUTF8(t.arguments, 1, 500), NULL) AS arguments,
            if(s.tool_call != 0, substringUTF8(t.result, 1, 500), NULL) AS result,
            if(s.model_call != 0, m.provider, NULL) AS provider,
            if(s.model_call != 0, m.request_model, NULL) AS request_model,
            m.parameters AS parameters,
            m.parameters_hash AS parameters_hash,
            m.system_hash AS system_hash,
            m.tools_hash AS tools_hash,
            m.input_hash AS input_hash,
            m.output_hash AS output_hash,
            substringUTF8(value_text(m.system_value, v.texts, v.elements, v.lists), 1, 500) AS system,
            substringUTF8(value_text(m.tools_value, v.texts, v.elements, v.lists), 1, 500) AS tools,
            arrayStringConcat(arrayMap(n -> v.texts[n], m.output_values), ' ') AS answer,
            -- A state made of messages is the prompt again.
            if(ifNull(s.state_source, 'messages') = 'messages', NULL, s.state_before_hash) AS state_hash,
            if(
                isNull(state_hash),
                [],
                arrayMap(
                    (k, n) -> (toString(k), v.hashes[n], substringUTF8(value_text(n, v.texts, v.elements, v.lists), 1, 200)),
                    s.before_keys,
                    s.before_values
                )
            ) AS state
        FROM canon_steps AS s
        INNER JOIN pointer AS p ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
        LEFT JOIN canon_tool_calls AS t
            ON t.tenant = s.tenant AND t.run_id = s.run_id AND t.generation = s.generation AND t.ordinal = s.tool_call
        LEFT JOIN canon_model_calls AS m
            ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.ordinal = s.model_call
        LEFT JOIN said AS v ON v.run_id = s.run_id
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
        FROM facts
        HAVING (SELECT uniqExact(run_id) FROM pointer) = if({a:String} = {b:String}, 1, 2)
    ),
    keyed AS
    (
        SELECT
            steps_a.1 AS numbers_a,
            steps_b.1 AS numbers_b,
            steps_a.2 AS keys_a,
            steps_b.2 AS keys_b,
            toInt64(least(length(steps_a), length(steps_b))) AS shorter
        FROM listed
    ),
    headed AS
    (
        SELECT
            numbers_a,
            numbers_b,
            keys_a,
            keys_b,
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
            numbers_a,
            numbers_b,
            keys_a,
            keys_b,
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
            numbers_a,
            numbers_b,
            head,
            tail,
            arraySlice(keys_a, head + 1, toInt64(length(keys_a)) - head - tail) AS middle_a,
            arraySlice(keys_b, head + 1, toInt64(length(keys_b)) - head - tail) AS middle_b
        FROM tailed
    ),
    named AS
    (
        SELECT
            numbers_a,
            numbers_b,
            head,
            tail,
            arrayMap((k, n) -> concat(k, '\0', toString(n)), middle_a, arrayEnumerateUniq(middle_a)) AS named_a,
            arrayMap((k, n) -> concat(k, '\0', toString(n)), middle_b, arrayEnumerateUniq(middle_b)) AS named_b
        FROM middles
    ),
    partners AS
    (
        SELECT
            numbers_a,
            numbers_b,
            head,
            tail,
            arrayMap(k -> indexOf(named_b, k), named_a) AS partner_a,
            arrayMap(k -> indexOf(named_a, k), named_b) AS partner_b
        FROM named
    ),
    aligned AS
    (
        SELECT
            numbers_a,
            numbers_b,
            arraySort(arrayFilter(x -> x != 0, partner_a)) AS in_order,
            -- (zone, order in it, of a, index in a, index in b, rank among those with a partner)
            arraySort(
                arrayConcat(
                    CAST(
                        arrayMap(i -> (0, i, 1, i, i, 0), range(1, head + 1)),
                        'Array(Tuple(Int64, Int64, Int64, Int64, Int64, Int64))'
                    ),
                    CAST(
                        arrayMap(
                            (partner, i, rank) -> (
                                1,
                                i,
                                1,
                                head + i,
                                if(partner = 0, 0, head + toInt64(partner)),
                                if(partner = 0, 0, rank)
                            ),
                            partner_a,
                            arrayEnumerate(partner_a),
                            arrayCumSum(arrayMap(x -> x != 0, partner_a))
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
                            i -> (
                                2,
                                i,
                                0,
                                toInt64(length(numbers_a)) - tail + i,
                                toInt64(length(numbers_b)) - tail + i,
                                0
                            ),
                            range(1, tail + 1)
                        ),
                        'Array(Tuple(Int64, Int64, Int64, Int64, Int64, Int64))'
                    )
                )
            ) AS places,
            head
        FROM partners
    ),
    placed AS
    (
        SELECT
            numbers_a,
            numbers_b,
            in_order,
            head,
            arrayJoin(arrayZip(arrayEnumerate(places), places)) AS place
        FROM aligned
    ),
    paired AS
    (
        SELECT
            {a:String} AS a,
            {b:String} AS b,
            place.1 AS position,
            if(place.2.4 = 0, 0, numbers_a[place.2.4]) AS step_a,
            if(place.2.5 = 0, 0, numbers_b[place.2.5]) AS step_b,
            place.2.6 != 0 AND toInt64(in_order[place.2.6]) != place.2.5 - head AS moved
        FROM placed
    ),
    prompted AS
    (
        SELECT
            p.a AS a,
            p.b AS b,
            p.position AS position,
            p.step_a AS step_a,
            p.step_b AS step_b,
            p.moved AS moved,
            -- The first message in which the prompts differ, as numbers in both runs; 0 where one prompt has ended.
            arrayFirst(
                o -> o.1 != o.2,
                arrayZip(
                    arrayResize(u.messages.2, greatest(length(u.messages), length(w.messages)), ''),
                    arrayResize(w.messages.2, greatest(length(u.messages), length(w.messages)), ''),
                    arrayResize(u.messages.3, greatest(length(u.messages), length(w.messages)), 0),
                    arrayResize(w.messages.3, greatest(length(u.messages), length(w.messages)), 0)
                )
            ) AS odd
        FROM paired AS p
        LEFT JOIN prompts AS u ON u.run_id = p.a AND u.step = p.step_a
        LEFT JOIN prompts AS w ON w.run_id = p.b AND w.step = p.step_b
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
            x.system AS system_a,
            y.system AS system_b,
            x.tools AS tools_a,
            y.tools AS tools_b,
            x.output_hash AS output_hash_a,
            y.output_hash AS output_hash_b,
            x.answer AS answer_a,
            y.answer AS answer_b,
            x.state_hash AS state_hash_a,
            y.state_hash AS state_hash_b,
            -- Of two states only the keys that differ, as (key, text).
            arrayMap(
                e -> (e.1, e.3),
                arrayFilter(e -> NOT has(arrayZip(y.state.1, y.state.2), (e.1, e.2)), x.state)
            ) AS odd_state_a,
            arrayMap(
                e -> (e.1, e.3),
                arrayFilter(e -> NOT has(arrayZip(x.state.1, x.state.2), (e.1, e.2)), y.state)
            ) AS odd_state_b,
            if(p.odd.3 = 0, NULL, concat(i.roles[p.odd.3], ': ', i.texts[p.odd.3])) AS message_a,
            if(p.odd.4 = 0, NULL, concat(j.roles[p.odd.4], ': ', j.texts[p.odd.4])) AS message_b
        FROM prompted AS p
        LEFT JOIN facts AS x ON x.run_id = p.a AND x.step = p.step_a
        LEFT JOIN facts AS y ON y.run_id = p.b AND y.step = p.step_b
        LEFT JOIN said AS i ON i.run_id = p.a
        LEFT JOIN said AS j ON j.run_id = p.b
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
                        both AND ifNull(state_hash_a != state_hash_b, false),
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
        FROM joined
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
