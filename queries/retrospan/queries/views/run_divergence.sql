-- title: where two runs diverge, and why; one row
-- params: a String, b String
-- returns:
--   step_a Nullable(UInt32): first step of a that differs; NULL if nothing differs or a has no step there
--   step_b Nullable(UInt32): the step of b at that position
--   aspect LowCardinality(String): what differs there: tool, arguments, result, answer, state, prompt, model, error; '' if nothing
--   cause LowCardinality(String): patch, input, code, model, prompt, tool_result, sampling, order or unknown; '' if nothing differs but length
--   value_a Nullable(String): what run a has there, cut to 500 characters
--   value_b Nullable(String): what run b has there, also cut
--   identical Bool: every step, the input and the outcome are known and equal, ids in texts aside
--   prefix LowCardinality(String): a if run b merely continues where a stops, b the other way round, else none
--   position Nullable(UInt32): the place in run_diff
--   shown_cause LowCardinality(String): the cause that the steps show, versions aside: as cause, but where that is code
-- note: of a fork, what was changed there is the cause, and its patch is the value of the side that is the fork. A model's answer that only one run has is set beside the other run's next step, if that was asked the same. No row if one of the runs does not exist.
-- example: SELECT step_a, step_b, aspect, cause, value_a, value_b FROM run_divergence(a = {run_id:String}, b = {other_run_id:String})
WITH
    compared_runs AS
    (
        SELECT
            run_id,
            input,
            retrospan_key_of_known(canon_runs.input, canon_runs.input_hash) AS input_key,
            outcome,
            agent_version,
            service_version,
            if({a:String} = {b:String} OR ifNull(parent_link, '') != 'forks', '', ifNull(parent_run_id, '')) AS forks,
            ifNull(canon_runs.patch, '') AS patch
        FROM canon_runs FINAL
        WHERE run_id IN ({a:String}, {b:String}) AND NOT deleted
    ),
    runs_apart AS
    (
        SELECT
            x.input AS input_a,
            y.input AS input_b,
            x.outcome AS outcome_a,
            y.outcome AS outcome_b,
            -- What a fork changed in the other run, and whose it is.
            multiIf(
                y.forks = {a:String} AND y.patch != '', 'b',
                x.forks = {b:String} AND x.patch != '', 'a',
                ''
            ) AS forked,
            if(forked = 'b', y.patch, x.patch) AS patch,
            ifNull(x.input_key != y.input_key, false) AS other_input,
            isNull(x.input_key) != isNull(y.input_key) AS half_known_input,
            ifNull(x.agent_version != y.agent_version, false)
                OR ifNull(x.service_version != y.service_version, false) AS other_code
        FROM compared_runs AS x
        CROSS JOIN compared_runs AS y
        WHERE x.run_id = {a:String} AND y.run_id = {b:String}
    ),
    -- Whether both runs made the same calls, in whatever order.
    calls AS
    (
        WITH
            ifNull(retrospan_key_of_known(t.arguments, t.arguments_hash), '') AS key
        SELECT
            arraySort(groupArrayIf((t.tool_name, key), t.run_id = {a:String}))
            = arraySort(groupArrayIf((t.tool_name, key), t.run_id = {b:String})) AS same_calls
        FROM canon_tool_calls AS t
        INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
            USING (tenant, run_id, generation)
        WHERE t.run_id IN ({a:String}, {b:String}) AND isNotNull(t.step)
    ),
    -- What each model step was asked, and what it answered.
    requests AS
    (
        SELECT
            c.run_id AS run_id,
            c.step AS step,
            any(c.request) AS request,
            arrayStringConcat(
                arraySort((text, place) -> place, groupArray(v.text), groupArray(c.answer.place)),
                ' '
            ) AS answered
        FROM
        (
            SELECT
                tenant,
                run_id,
                generation,
                step,
                (
                    ifNull(agent_name, ''),
                    ifNull(provider, ''),
                    ifNull(request_model, ''),
                    parameters_hash,
                    system_hash,
                    tools_hash,
                    input_hash
                ) AS request,
                arrayJoin(
                    CAST(arrayZip(arrayEnumerate(output_values), output_values), 'Array(Tuple(place UInt32, number UInt32))')
                ) AS answer,
                answer.number AS number
            FROM canon_model_calls
            WHERE run_id IN ({a:String}, {b:String})
        ) AS c
        INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
            USING (tenant, run_id, generation)
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
        ) AS v
            ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation AND v.number = c.number
        GROUP BY c.tenant, c.run_id, c.generation, c.step
    ),
    -- The whole alignment as one row.
    listed AS
    (
        SELECT
            arraySort(
                p -> (
                    p.position,
                    indexOf(['tool', 'arguments', 'model', 'prompt', 'state', 'answer', 'result', 'error'], p.aspect)
                ),
                CAST(
                    groupArray(
                        (
                            position,
                            ifNull(step_a, 0),
                            ifNull(step_b, 0),
                            toString(change),
                            toString(aspect),
                            toString(detail),
                            value_a,
                            value_b,
                            toString(step_kind),
                            known
                        )
                    ),
                    'Array(Tuple(position UInt32, step_a UInt32, step_b UInt32, change String, aspect String, detail String, value_a Nullable(String), value_b Nullable(String), step_kind String, known Bool))'
                )
            ) AS places
        FROM run_diff(a = {a:String}, b = {b:String})
    ),
    parted AS
    (
        SELECT
            places,
            arrayFilter(p -> p.change != 'same', places) AS apart,
            arrayAll(p -> p.known, places) AS all_known
        FROM listed
    ),
    -- Stage by stage: what a lambda uses of its row is copied for each element, so it must not be a whole array.
    begun AS
    (
        SELECT *, arrayMin(arrayPushBack(apart.position, 4294967295)) AS first
        FROM parted
    ),
    placed AS
    (
        SELECT
            * EXCEPT (places),
            -- Where each run stood when they parted.
            toUInt32(arrayMax(arrayPushFront(arrayFilter(p -> p.position < first, places).step_a, 0)) + 1) AS next_a,
            toUInt32(arrayMax(arrayPushFront(arrayFilter(p -> p.position < first, places).step_b, 0)) + 1) AS next_b,
            -- The next place after that which both runs share.
            arrayMin(
                arrayPushBack(
                    arrayFilter(p -> p.change IN ('same', 'changed') AND p.position > first, places).position,
                    4294967295
                )
            ) AS shared_again
        FROM begun
    ),
    found AS
    (
        SELECT
            apart,
            all_known,
            next_a,
            next_b,
            arrayFilter(p -> p.position = first, apart) AS there,
            there.aspect AS aspects,
            arrayFirst(p -> p.change = 'only_a' AND p.position < shared_again, apart) AS own_a,
            arrayFirst(p -> p.change = 'only_b' AND p.position < shared_again, apart) AS own_b,
            multiIf(
                empty(apart) OR shared_again != 4294967295, 'none',
                arrayAll(p -> p.change = 'only_b', apart), 'a',
                arrayAll(p -> p.change = 'only_a', apart), 'b',
                'none'
            ) AS prefix
        FROM placed
    ),
    -- A model's answer that only one run has, and the other was asked the same: they part in what was answered.
    beside AS
    (
        SELECT
            found.*,
            x.answered AS answered_a,
            y.answered AS answered_b,
            notEmpty(there)
                AND there[1].change IN ('only_a', 'only_b')
                AND there[1].step_kind = 'model'
                AND x.step != 0
                AND y.step != 0
                AND x.request = y.request AS asked_the_same
        FROM found
        LEFT JOIN requests AS x ON x.run_id = {a:String} AND x.step = found.next_a
        LEFT JOIN requests AS y ON y.run_id = {b:String} AND y.step = found.next_b
    ),
    judged AS
    (
        SELECT
            *,
            forked = ''
                AND empty(apart)
                AND all_known
                AND NOT other_input
                AND NOT half_known_input
                AND outcome_a = outcome_b AS identical,
            multiIf(
                forked != '', 'patch',
                prefix != 'none', '',
                empty(apart) AND NOT other_input AND outcome_a = outcome_b, '',
                other_input OR arrayExists(p -> p.aspect = 'state' AND p.step_a = 1 AND p.step_b = 1, there), 'input',
                has(aspects, 'model'), 'model',
                arrayExists(p -> p.aspect = 'prompt' AND match(p.detail, 'system|tools'), there), 'prompt',
                notEmpty(there)
                    AND there[1].step_kind = 'tool'
                    AND there[1].change = 'changed'
                    AND hasAny(['result', 'error'], aspects)
                    AND NOT hasAny(['tool', 'arguments', 'state'], aspects), 'tool_result',
                arrayExists(
                    p -> p.aspect = 'prompt'
                        AND startsWith(ifNull(p.value_a, ''), 'tool: ')
                        AND startsWith(ifNull(p.value_b, ''), 'tool: '),
                    there
                ), 'tool_result',
                notEmpty(there)
                    AND there[1].step_kind = 'model'
                    AND there[1].change = 'changed'
                    AND has(aspects, 'answer')
                    AND NOT hasAny(['prompt', 'error'], aspects), 'sampling',
                asked_the_same, 'sampling',
                notEmpty(there)
                    AND there[1].step_kind != 'model'
                    AND same_calls
                    AND arrayExists(p -> p.change != 'changed' OR p.aspect IN ('tool', 'arguments'), there),
                'order',
                'unknown'
            ) AS shown_cause,
            if(other_code AND shown_cause NOT IN ('', 'patch', 'input'), 'code', shown_cause) AS cause
        FROM beside
        CROSS JOIN runs_apart
        CROSS JOIN calls
    ),
    chosen AS
    (
        SELECT
            *,
            -- The aspect that shows the cause, else the first.
            there[
                greatest(
                    indexOf(
                        aspects,
                        transform(
                            cause,
                            ['input', 'model', 'prompt', 'tool_result', 'sampling'],
                            ['prompt', 'model', 'prompt', 'result', 'answer'],
                            ''
                        )
                    ),
                    1
                )
            ] AS place
        FROM judged
    )
SELECT
    nullIf(
        multiIf(
            cause = 'sampling' AND asked_the_same, next_a,
            place.change = 'only_b', own_a.step_a,
            place.step_a
        ),
        0
    ) AS step_a,
    nullIf(
        multiIf(
            cause = 'sampling' AND asked_the_same, next_b,
            place.change = 'only_a', own_b.step_b,
            place.step_b
        ),
        0
    ) AS step_b,
    CAST(
        multiIf(
            notEmpty(there), place.aspect,
            other_input, 'prompt',
            outcome_a != outcome_b, 'error',
            ''
        ),
        'LowCardinality(String)'
    ) AS aspect,
    CAST(cause, 'LowCardinality(String)') AS cause,
    multiIf(
        cause = 'patch' AND forked = 'a', substringUTF8(patch, 1, 500),
        cause = 'sampling' AND asked_the_same, substringUTF8(answered_a, 1, 500),
        empty(there) AND other_input, substringUTF8(input_a, 1, 500),
        empty(there) AND outcome_a != outcome_b, toString(outcome_a),
        place.change = 'only_b', own_a.value_a,
        place.value_a
    ) AS value_a,
    multiIf(
        cause = 'patch' AND forked = 'b', substringUTF8(patch, 1, 500),
        cause = 'sampling' AND asked_the_same, substringUTF8(answered_b, 1, 500),
        empty(there) AND other_input, substringUTF8(input_b, 1, 500),
        empty(there) AND outcome_a != outcome_b, toString(outcome_b),
        place.change = 'only_a', own_b.value_b,
        place.value_b
    ) AS value_b,
    CAST(identical, 'Bool') AS identical,
    CAST(prefix, 'LowCardinality(String)') AS prefix,
    nullIf(place.position, 0) AS position,
    CAST(shown_cause, 'LowCardinality(String)') AS shown_cause
FROM chosen
SETTINGS join_use_nulls = 0
