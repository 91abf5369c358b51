-- title: circumstances of two populations of runs, one row per thing that they ran with and its value: how many runs of each had it
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String
-- returns:
--   tenant LowCardinality(String): owner of the rows; each tenant is compared with itself
--   part LowCardinality(String): what it is: agent_version, service_version, environment, model, answering_model, provider, parameters, system_prompt, prompt_version, tool_definitions, document, tool_result; or of what was asked of them: agent, service, user, input_length, tool (one that was called)
--   name String: whose it is: the agent, the service, the prompt, the document without its version, or of a tool_result the tool and the hash of its arguments; '' where it is of the run
--   value String: what it was: a name, a version, parameters as JSON, or the comparison hash of a prompt, of definitions or of a result
--   baseline_runs UInt64: runs of the baseline that had it, of those looked at
--   candidate_runs UInt64: runs of the candidate that had it, of those looked at
--   baseline_n UInt64: runs of the baseline that are known to have had one, whatever its value
--   candidate_n UInt64: the same of the candidate
--   p_value Nullable(Float64): probability of such a difference of shares by chance, adjusted by Benjamini-Hochberg over all that were tested; NULL where fewer than 10 runs of a side are known to have had one, or fewer than 5 had it
--   changed Bool: the share of runs differs by a tenth at least, and p_value is 0.01 at most
--   first_at DateTime64(9, 'UTC'): start of the first run that had it, of those looked at
--   baseline_examples Array(String): at most three runs of the baseline that had it, the first ones
--   candidate_examples Array(String): the same of the candidate
--   found_in String: a run that had it
--   found_call Nullable(UInt32): its first model call that had it, of a tool_result its tool call
-- note: times and versions choose runs as in drift, '' = open or any. Of each side at most 200 runs are looked at, by chance, always the same; of each part and name the 20 values that most had, those that changed first, and of equal ones the earliest of the baseline and the latest of the candidate; of values that one run alone had, only prompts and definitions.
-- example: SELECT part, name, value, baseline_runs, baseline_n, candidate_runs, candidate_n, first_at FROM circumstances(baseline_from = '', baseline_to = '2026-01-01', baseline_version = '', candidate_from = '2026-01-01', candidate_to = '', candidate_version = '', agent = '') WHERE changed ORDER BY p_value
WITH
    (started_at, since, until) -> (since = '' OR started_at >= parseDateTime64BestEffortOrNull(since, 9, 'UTC'))
        AND (until = '' OR started_at < parseDateTime64BestEffortOrNull(until, 9, 'UTC')) AS is_within,
    -- Found once, as a value: a stage would be found again wherever it is named. Of the table and not of `runs`, whose
    -- outcome takes longer to plan than all of this takes to run: what may be in progress was heard of just now.
    (
        SELECT groupArray(
            (
                tenant,
                run_id,
                generation,
                started_at,
                side,
                -- Of those that are chosen alone: of all runs this took a tenth of the whole answer.
                [
                    ('agent_version', ifNull(agent_name, ''), ifNull(agent_version, '')),
                    ('service_version', ifNull(service_name, ''), ifNull(service_version, '')),
                    ('environment', '', ifNull(environment, '')),
                    ('agent', '', ifNull(agent_name, '')),
                    ('service', '', ifNull(service_name, '')),
                    ('user', '', ifNull(user_id, '')),
                    (
                        'input_length',
                        '',
                        multiIf(
                            isNull(input), '',
                            lengthUTF8(input) < 50, 'under 50 characters',
                            lengthUTF8(input) < 200, '50 to 199 characters',
                            lengthUTF8(input) < 1000, '200 to 999 characters',
                            lengthUTF8(input) < 5000, '1,000 to 4,999 characters',
                            '5,000 characters or more'
                        )
                    )
                ]
            )
        )
        FROM
        (
            SELECT
                tenant,
                run_id,
                generation,
                started_at,
                -- A run that is on both sides counts for each: 0 is the baseline, 1 the candidate.
                arrayJoin(
                    arrayConcat(
                        if(
                            is_within(started_at, {baseline_from:String}, {baseline_to:String})
                                AND ({baseline_version:String} = ''
                                    OR {baseline_version:String} IN (agent_version, service_version)),
                            [0],
                            []
                        ),
                        if(
                            is_within(started_at, {candidate_from:String}, {candidate_to:String})
                                AND ({candidate_version:String} = ''
                                    OR {candidate_version:String} IN (agent_version, service_version)),
                            [1],
                            []
                        )
                    )
                ) AS side,
                agent_name,
                agent_version,
                service_name,
                service_version,
                environment,
                user_id,
                input
            FROM canon_runs FINAL
            WHERE NOT deleted
                AND run_kind != 'demo'
                AND ({agent:String} = '' OR agent_name = {agent:String})
                AND (
                    outcome != 'incomplete'
                    OR least(greatest(newest_ended_at, last_said_at), arrived_at) < now() - INTERVAL 5 MINUTE
                )
                AND (
                    is_within(started_at, {baseline_from:String}, {baseline_to:String})
                    OR is_within(started_at, {candidate_from:String}, {candidate_to:String})
                )
            ORDER BY sipHash64(run_id)
            LIMIT 200 BY tenant, side
        )
    ) AS chosen,
    looked_at AS
    (
        SELECT
            each.1 AS tenant,
            each.2 AS run_id,
            each.3 AS generation,
            each.4 AS started_at,
            each.5 AS side,
            cityHash64(run_id) AS number
        FROM (SELECT arrayJoin(chosen) AS each)
    ),
    -- What a run ran with, each once.
    facts AS
    (
        SELECT DISTINCT
            each.1 AS tenant,
            each.2 AS run_id,
            each.3 AS generation,
            fact.1 AS part,
            fact.2 AS name,
            fact.3 AS value,
            0 AS call
        FROM (SELECT arrayJoin(chosen) AS each)
        ARRAY JOIN each.6 AS fact
        UNION ALL
        SELECT tenant, run_id, generation, fact.1 AS part, fact.2 AS name, fact.3 AS value, min(ordinal) AS call
        FROM
        (
            SELECT
                tenant,
                run_id,
                generation,
                ordinal,
                [
                    ('model', ifNull(agent_name, ''), ifNull(request_model, '')),
                    ('answering_model', ifNull(agent_name, ''), ifNull(response_model, '')),
                    ('provider', ifNull(agent_name, ''), ifNull(provider, '')),
                    ('parameters', ifNull(agent_name, ''), if(parameters = '{}', '', parameters)),
                    ('system_prompt', ifNull(agent_name, ''), system_hash),
                    ('prompt_version', ifNull(prompt_name, ''), ifNull(prompt_version, '')),
                    ('tool_definitions', ifNull(agent_name, ''), tools_hash)
                ] AS facts_of_call
            FROM canon_model_calls
            WHERE (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM looked_at)
        )
        ARRAY JOIN facts_of_call AS fact
        GROUP BY tenant, run_id, generation, part, name, value
        UNION ALL
        SELECT tenant, run_id, generation, fact.1 AS part, fact.2 AS name, fact.3 AS value, min(ordinal) AS call
        FROM
        (
            SELECT
                tenant,
                run_id,
                generation,
                ordinal,
                [
                    ('tool', '', tool_name),
                    (
                        'tool_result',
                        concat(tool_name, ' ', ifNull(arguments_hash, '')),
                        if(isNotNull(arguments_hash) AND status = 'ok', ifNull(result_hash, ''), '')
                    )
                ] AS facts_of_call
            FROM canon_tool_calls
            WHERE (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM looked_at)
        )
        ARRAY JOIN facts_of_call AS fact
        GROUP BY tenant, run_id, generation, part, name, value
        UNION ALL
        SELECT tenant, run_id, generation, 'document' AS part, name, value, 0 AS call
        FROM
        (
            SELECT *, max(versions) OVER (PARTITION BY tenant, name) AS most
            FROM
            (
                SELECT
                    tenant,
                    run_id,
                    generation,
                    document.1 AS name,
                    document.2 AS value,
                    if(match(value, '^[0-9a-f]{32}$'), arrayCount(d -> d.1 = name, documents), 1) AS versions
                FROM
                (
                    SELECT
                        tenant,
                        run_id,
                        generation,
                        groupUniqArray(reference) AS named,
                        -- A document that has no version is one of those that were used; a version is one of its document.
                        -- One that is named with its store counts once.
                        arrayMap(
                            (r, at) -> if(at = 0, ('', r), (substring(r, 1, length(r) - at), substring(r, length(r) - at + 2))),
                            arrayFilter(
                                r -> NOT arrayExists(
                                    o -> position(o, '@') = 0 AND endsWith(o, concat('/', substring(r, 10))),
                                    named
                                ),
                                named
                            ) AS kept,
                            arrayMap(r -> position(reverse(r), '@'), kept)
                        ) AS documents
                    FROM canon_crossings
                    WHERE reference >= 'document:'
                        AND reference < 'document;'
                        AND side = 'object'
                        AND (tenant, run_id, generation) IN (SELECT tenant, run_id, generation FROM looked_at)
                    GROUP BY tenant, run_id, generation
                )
                ARRAY JOIN documents AS document
            )
        )
        -- Hashes of several contents in one run are of parts of the document, not of its versions.
        WHERE name = '' OR most = 1
    ),
    -- An empty value stands for any: how many are known to have had one.
    counted AS
    (
        SELECT
            f.tenant AS tenant,
            f.part AS part,
            f.name AS name,
            arrayJoin([f.value, '']) AS value,
            uniqExactIf(l.number, l.side = 0) AS baseline_runs,
            uniqExactIf(l.number, l.side = 1) AS candidate_runs,
            groupArraySortedIf(3)((l.started_at, f.run_id), l.side = 0).2 AS baseline_examples,
            groupArraySortedIf(3)((l.started_at, f.run_id), l.side = 1).2 AS candidate_examples,
            min((l.started_at, f.run_id, f.call)) AS found
        FROM facts AS f
        INNER JOIN looked_at AS l ON l.tenant = f.tenant AND l.run_id = f.run_id
        WHERE f.value != ''
        GROUP BY tenant, part, name, value
        HAVING baseline_runs + candidate_runs > 1 OR part IN ('system_prompt', 'tool_definitions')
    ),
    compared AS
    (
        SELECT
            *,
            maxIf(baseline_runs, value = '') OVER (PARTITION BY tenant, part, name) AS baseline_n,
            maxIf(candidate_runs, value = '') OVER (PARTITION BY tenant, part, name) AS candidate_n
        FROM counted
    ),
    tested AS
    (
        SELECT
            *,
            if(
                value = '' OR least(baseline_n, candidate_n) < 10 OR baseline_runs + candidate_runs < 5,
                CAST(NULL, 'Nullable(Float64)'),
                toNullable(retrospan_chance_of_shares(baseline_runs, baseline_n, candidate_runs, candidate_n))
            ) AS p
        FROM compared
        WHERE value != ''
    ),
    ranked AS
    (
        SELECT
            *,
            count(p) OVER (PARTITION BY tenant) AS tests,
            row_number() OVER (PARTITION BY tenant ORDER BY p ASC NULLS LAST) AS place,
            -- Of values that one run alone had, both sides are kept: the earliest before, and the latest after.
            row_number() OVER (
                PARTITION BY tenant, part, name, baseline_runs = 0
                ORDER BY if(baseline_runs = 0, -1, 1) * toUnixTimestamp64Nano(found.1), value
            ) AS turn
        FROM tested
    ),
    -- Benjamini and Hochberg: the least p * tests / rank over this test and those that are more doubtful.
    adjusted AS
    (
        SELECT
            *,
            if(
                isNull(p),
                NULL,
                min(least(p * tests / place, 1)) OVER (
                    PARTITION BY tenant ORDER BY place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
                )
            ) AS p_value
        FROM ranked
    )
SELECT
    CAST(a.tenant, 'LowCardinality(String)') AS tenant,
    CAST(a.part, 'LowCardinality(String)') AS part,
    a.name AS name,
    a.value AS value,
    a.baseline_runs AS baseline_runs,
    a.candidate_runs AS candidate_runs,
    a.baseline_n AS baseline_n,
    a.candidate_n AS candidate_n,
    a.p_value AS p_value,
    CAST(
        ifNull(a.p_value, 1) <= 0.01
            AND abs(a.candidate_runs / a.candidate_n - a.baseline_runs / a.baseline_n) >= 0.1,
        'Bool'
    ) AS changed,
    a.found.1 AS first_at,
    a.baseline_examples AS baseline_examples,
    a.candidate_examples AS candidate_examples,
    a.found.2 AS found_in,
    nullIf(a.found.3, 0) AS found_call
FROM adjusted AS a
ORDER BY
    changed DESC,
    baseline_runs + candidate_runs DESC,
    a.turn,
    value
LIMIT 20 BY tenant, part, name
