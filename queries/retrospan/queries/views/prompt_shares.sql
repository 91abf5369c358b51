-- title: prompt shares, one row per message, system prompt or list of tools of a run: how much of its prompts it fills
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   part LowCardinality(String): message, system (instructions) or tools (definitions)
--   message Nullable(String): reference of the message
--   role LowCardinality(Nullable(String)): role of the message
--   tool_name Nullable(String): the tools whose results it carries, with commas between; NULL if it carries none that is known
--   first_call Nullable(UInt32): ordinal of the model call that read or said it first; NULL if not known
--   prompts UInt64: in how many prompts of the run it stands
--   bytes UInt64: its length as JSON, in UTF-8
--   tokens_estimated Float64: tokens of all these prompts that it takes: each prompt's tokens, divided by length
--   share Nullable(Float64): these as a part of the tokens of all prompts of the run, from 0 to 1
--   cost_estimated Nullable(Float64): the same part of what the prompts cost; NULL if not known
--   currency LowCardinality(Nullable(String)): currency of that cost
--   text Nullable(String): text of the message; NULL for the others
-- note: an estimate: models count tokens otherwise than by length, and what came from a cache is taken at the mean price of its prompt.
-- example: SELECT part, role, tool_name, prompts, round(share, 2) AS share, substring(text, 1, 60) AS begins FROM prompt_shares WHERE run_id = {run_id:String} ORDER BY share DESC LIMIT 10
SELECT
    s.tenant AS tenant,
    s.run_id AS run_id,
    CAST(s.part, 'LowCardinality(String)') AS part,
    if(s.part = 'message', retrospan_reference('message', m.hash), NULL) AS message,
    CAST(nullIf(m.role, ''), 'LowCardinality(Nullable(String))') AS role,
    if(s.part = 'message', nullIf(m.tools, ''), NULL) AS tool_name,
    nullIf(m.first_call, 0) AS first_call,
    s.prompts AS prompts,
    s.bytes AS bytes,
    s.tokens AS tokens_estimated,
    s.tokens / nullIf(p.input_tokens, 0) AS share,
    s.cost AS cost_estimated,
    CAST(if(isNull(s.cost), NULL, s.currency), 'LowCardinality(Nullable(String))') AS currency,
    if(s.part = 'message', retrospan_message_text(m.json), NULL) AS text
FROM
(
    SELECT
        tenant,
        run_id,
        generation,
        number,
        part,
        count() AS prompts,
        any(size) AS bytes,
        sum(tokens * size / whole) AS tokens,
        if(countIf(isNull(amount)) = 0, sum(toFloat64(amount) * size / whole), NULL) AS cost,
        any(currency) AS currency
    FROM
    (
        SELECT
            c.tenant AS tenant,
            c.run_id AS run_id,
            c.generation AS generation,
            c.ordinal AS ordinal,
            assumeNotNull(c.input_tokens) AS tokens,
            arrayConcat(
                c.input_values,
                if(c.system_value = 0, [], [c.system_value]),
                if(c.tools_value = 0, [], [c.tools_value])
            ) AS numbers,
            arrayConcat(
                arrayMap(n -> 'message', c.input_values),
                if(c.system_value = 0, [], ['system']),
                if(c.tools_value = 0, [], ['tools'])
            ) AS kinds,
            -- A list is as long as its elements.
            arrayConcat(
                arrayMap(n -> v.sizes[n], c.input_values),
                arrayMap(
                    n -> if(empty(v.elements[n]), v.sizes[n], arraySum(e -> v.sizes[e], v.elements[n])),
                    arrayFilter(n -> n != 0, [c.system_value, c.tools_value])
                )
            ) AS lengths,
            arraySum(lengths) AS whole
        FROM
        (
            -- On the left: there the engine keeps one copy of a run's sizes for all calls, and on the right one each.
            SELECT
                tenant,
                run_id,
                generation,
                arraySort(x -> x.1, groupArray((number, length(json)))).2 AS sizes,
                arraySort(x -> x.1, groupArray((number, canon_values.elements))).2 AS elements
            FROM canon_values
            GROUP BY tenant, run_id, generation
        ) AS v
        RIGHT JOIN canon_model_calls AS c
            ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation
        WHERE isNotNull(c.input_tokens)
    ) AS c
    ARRAY JOIN numbers AS number, kinds AS part, lengths AS size
    LEFT JOIN
    (
        SELECT
            tenant,
            run_id,
            generation,
            model_call AS ordinal,
            if(countIf(isNull(amount)) = 0, sum(amount), NULL) AS amount,
            any(currency) AS currency
        FROM canon_costs
        WHERE startsWith(ifNull(bucket, 'input'), 'input') OR startsWith(ifNull(bucket, ''), 'cache_')
        GROUP BY tenant, run_id, generation, ordinal
    ) AS k USING (tenant, run_id, generation, ordinal)
    WHERE whole > 0
    GROUP BY tenant, run_id, generation, number, part
) AS s
INNER JOIN (SELECT tenant, run_id, generation, input_tokens FROM canon_runs FINAL WHERE NOT deleted) AS p
    ON p.tenant = s.tenant AND p.run_id = s.run_id AND p.generation = s.generation
INNER JOIN
(
    -- With the tools whose results a message carries. An id that was given twice is that of the first call.
    SELECT
        r.tenant AS tenant,
        r.run_id AS run_id,
        r.generation AS generation,
        r.number AS number,
        any(r.hash) AS hash,
        any(r.role) AS role,
        any(r.first_call) AS first_call,
        any(r.json) AS json,
        arraySort(
            groupArrayIf(
                (place, k.ordinal, toString(k.tool_name)),
                k.tool_name != '' AND JSONHas(carried, 'response')
            )
        ) AS found,
        arrayStringConcat(
            arrayDistinct(arrayMap(p -> arrayFirst(x -> x.1 = p, found).3, arrayDistinct(found.1))),
            ', '
        ) AS tools
    FROM canon_values AS r
    LEFT ARRAY JOIN
        if(r.kind = 'message', JSONExtractArrayRaw(r.json, 'parts'), []) AS carried,
        arrayEnumerate(if(r.kind = 'message', JSONExtractArrayRaw(r.json, 'parts'), [])) AS place
    LEFT JOIN canon_tool_calls AS k
        ON k.tenant = r.tenant
        AND k.run_id = r.run_id
        AND k.generation = r.generation
        AND k.tool_call_id = JSONExtractString(carried, 'id')
    GROUP BY tenant, run_id, generation, number
) AS m ON m.tenant = s.tenant AND m.run_id = s.run_id AND m.generation = s.generation AND m.number = s.number
SETTINGS join_use_nulls = 0
