-- title: where two runs part, and why; one row
-- params: a String, b String
-- returns:
--   step_a Nullable(UInt32): first step of a that differs; NULL when nothing differs or a has no step there
--   step_b Nullable(UInt32): the step of b in its place
--   aspect LowCardinality(String): what differs there: tool, arguments, result, answer, state, prompt, model, error; '' when nothing
--   cause LowCardinality(String): input, code, model, prompt, tool_result, sampling, order or unknown; '' when nothing differs but length
--   value_a Nullable(String): what run a has there, cut to 500 characters
--   value_b Nullable(String): what run b has there, cut likewise
--   identical Bool: every step, the input and the outcome are known and equal
--   prefix LowCardinality(String): a when run b only goes on where a stops, b the other way round, else none
--   position Nullable(UInt32): the place in run_diff
-- note: no row when one of the runs does not exist.
-- example: SELECT step_a, step_b, aspect, cause, value_a, value_b FROM run_divergence(a = {run_id:String}, b = {other_run_id:String})
WITH
    runs_apart AS
    (
        SELECT
            x.input AS input_a,
            y.input AS input_b,
            x.outcome AS outcome_a,
            y.outcome AS outcome_b,
            ifNull(x.input_hash != y.input_hash, false) AS other_input,
            isNull(x.input_hash) != isNull(y.input_hash) AS half_known_input,
            ifNull(x.agent_version != y.agent_version, false)
                OR ifNull(x.service_version != y.service_version, false) AS other_code
        FROM
        (
            SELECT 1 AS one, input, input_hash, outcome, agent_version, service_version
            FROM canon_runs FINAL
            WHERE run_id = {a:String} AND NOT deleted
        ) AS x
        INNER JOIN
        (
            SELECT 1 AS one, input, input_hash, outcome, agent_version, service_version
            FROM canon_runs FINAL
            WHERE run_id = {b:String} AND NOT deleted
        ) AS y ON y.one = x.one
    ),
    -- Whether both runs made the same calls, in whatever order.
    calls AS
    (
        SELECT
            arraySort(groupArrayIf((t.tool_name, ifNull(t.arguments_hash, '')), t.run_id = {a:String}))
            = arraySort(groupArrayIf((t.tool_name, ifNull(t.arguments_hash, '')), t.run_id = {b:String})) AS same_calls
        FROM canon_tool_calls AS t
        INNER JOIN
        (
            SELECT tenant, run_id, generation
            FROM canon_runs FINAL
            WHERE run_id IN ({a:String}, {b:String}) AND NOT deleted
        ) AS p ON p.tenant = t.tenant AND p.run_id = t.run_id AND p.generation = t.generation
        WHERE t.run_id IN ({a:String}, {b:String}) AND isNotNull(t.step)
    ),
    -- The whole alignment as one row.
    listed AS
    (
        SELECT
            arraySort(
                x -> (
                    x.1,
                    indexOf(['tool', 'arguments', 'model', 'prompt', 'state', 'answer', 'result', 'error'], x.5)
                ),
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
                )
            ) AS places
        FROM run_diff(a = {a:String}, b = {b:String})
    ),
    parted AS
    (
        SELECT
            places,
            arrayFilter(x -> x.4 != 'same', places) AS apart,
            arrayAll(x -> x.10, places) AS all_known
        FROM listed
    ),
    -- Stage by stage: what a lambda uses of its row is copied for each element, so it must not be a whole array.
    begun AS
    (
        SELECT
            places,
            apart,
            all_known,
            arrayMin(arrayPushBack(arrayMap(x -> x.1, apart), 4294967295)) AS first
        FROM parted
    ),
    placed AS
    (
        SELECT
            apart,
            all_known,
            first,
            -- The next place after that which both runs share.
            arrayMin(
                arrayPushBack(
                    arrayMap(x -> x.1, arrayFilter(x -> x.4 IN ('same', 'changed') AND x.1 > first, places)),
                    4294967295
                )
            ) AS shared_again
        FROM begun
    ),
    -- (position, step a, step b, change, aspect, detail, value a, value b, kind, known)
    found AS
    (
        SELECT
            apart,
            all_known,
            arrayFilter(x -> x.1 = first, apart) AS there,
            arrayFirst(x -> x.4 = 'only_a' AND x.1 < shared_again, apart) AS own_a,
            arrayFirst(x -> x.4 = 'only_b' AND x.1 < shared_again, apart) AS own_b,
            arrayMap(x -> x.5, there) AS aspects,
            multiIf(
                empty(apart) OR shared_again != 4294967295, 'none',
                arrayAll(x -> x.4 = 'only_b', apart), 'a',
                arrayAll(x -> x.4 = 'only_a', apart), 'b',
                'none'
            ) AS prefix
        FROM placed
    ),
    judged AS
    (
        SELECT
            f.there AS there,
            f.own_a AS own_a,
            f.own_b AS own_b,
            f.prefix AS prefix,
            f.aspects AS aspects,
            r.input_a AS input_a,
            r.input_b AS input_b,
            r.outcome_a AS outcome_a,
            r.outcome_b AS outcome_b,
            r.other_input AS other_input,
            empty(f.apart)
                AND f.all_known
                AND NOT r.other_input
                AND NOT r.half_known_input
                AND r.outcome_a = r.outcome_b AS identical,
            multiIf(
                f.prefix != 'none', '',
                empty(f.apart) AND NOT r.other_input AND r.outcome_a = r.outcome_b, '',
                r.other_input
                    OR arrayExists(x -> x.5 = 'state' AND x.2 = 1 AND x.3 = 1, f.there), 'input',
                r.other_code, 'code',
                has(f.aspects, 'model'), 'model',
                arrayExists(x -> x.5 = 'prompt' AND match(x.6, 'system|tools'), f.there), 'prompt',
                notEmpty(f.there)
                    AND f.there[1].9 = 'tool'
                    AND f.there[1].4 = 'changed'
                    AND hasAny(['result', 'error'], f.aspects)
                    AND NOT hasAny(['tool', 'arguments', 'state'], f.aspects), 'tool_result',
                arrayExists(
                    x -> x.5 = 'prompt'
                        AND startsWith(ifNull(x.7, ''), 'tool: ')
                        AND startsWith(ifNull(x.8, ''), 'tool: '),
                    f.there
                ), 'tool_result',
                notEmpty(f.there)
                    AND f.there[1].9 = 'model'
                    AND f.there[1].4 = 'changed'
                    AND has(f.aspects, 'answer')
                    AND NOT hasAny(['prompt', 'error'], f.aspects), 'sampling',
                notEmpty(f.there) AND f.there[1].9 != 'model' AND c.same_calls, 'order',
                'unknown'
            ) AS cause
        FROM found AS f
        CROSS JOIN runs_apart AS r
        CROSS JOIN calls AS c
    ),
    chosen AS
    (
        SELECT
            there,
            own_a,
            own_b,
            prefix,
            input_a,
            input_b,
            outcome_a,
            outcome_b,
            other_input,
            identical,
            cause,
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
    nullIf(if(place.4 = 'only_b', own_a.2, place.2), 0) AS step_a,
    nullIf(if(place.4 = 'only_a', own_b.3, place.3), 0) AS step_b,
    CAST(
        multiIf(
            notEmpty(there), place.5,
            other_input, 'prompt',
            outcome_a != outcome_b, 'error',
            ''
        ),
        'LowCardinality(String)'
    ) AS aspect,
    CAST(cause, 'LowCardinality(String)') AS cause,
    multiIf(
        empty(there) AND other_input, substringUTF8(input_a, 1, 500),
        empty(there) AND outcome_a != outcome_b, toString(outcome_a),
        place.4 = 'only_b', own_a.7,
        place.7
    ) AS value_a,
    multiIf(
        empty(there) AND other_input, substringUTF8(input_b, 1, 500),
        empty(there) AND outcome_a != outcome_b, toString(outcome_b),
        place.4 = 'only_a', own_b.8,
        place.8
    ) AS value_b,
    CAST(identical, 'Bool') AS identical,
    CAST(prefix, 'LowCardinality(String)') AS prefix,
    nullIf(place.1, 0) AS position
FROM chosen
SETTINGS join_use_nulls = 0
