-- title: drift between two populations of runs, one row per metric with a verdict
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String
-- returns:
--   tenant LowCardinality(String): owner of the rows; each tenant is compared with itself
--   metric String: tool_mix, tool_transitions, tool_share: <tool>, steps_per_run, input_tokens, output_tokens, duration_ms, failure_rate, incomplete_rate, loop_rate; runs when there are too few
--   statistic LowCardinality(String): jensen_shannon (bits), welch_t, kolmogorov_smirnov, psi, proportions_z or too_few_runs
--   value Float64: the statistic; of too_few_runs the runs of the smaller side
--   p_value Nullable(Float64): probability of such a difference by chance, adjusted by Benjamini-Hochberg over all tests of the answer; NULL when the statistic has no test
--   threshold Float64: drifted below it when there is a p_value, else drifted above it; of too_few_runs the runs that are needed
--   baseline_n UInt64: runs of the baseline that have the metric
--   candidate_n UInt64: runs of the candidate that have it
--   drifted Bool: the verdict; false for too_few_runs, which is none
--   examples Array(String): at most three runs of the candidate that show the difference best, of 500 by chance when there are more
--   baseline_mean Nullable(Float64): mean over the runs of the baseline, or their share; NULL for a whole mix
--   candidate_mean Nullable(Float64): the same of the candidate
-- note: times are texts, '' = open; from is included, to is not. A version is that of the agent or of its service, '' = any; agent '' = all agents. Runs that still run and demo runs are left out.
-- example: SELECT metric, statistic, value, p_value, drifted FROM drift(baseline_from = '', baseline_to = '2026-01-01', baseline_version = '', candidate_from = '2026-01-01', candidate_to = '', candidate_version = '', agent = '')
WITH
    -- What chance stays under in 999 of 1,000 cases: chi-squared with k degrees of freedom (Wilson and Hilferty).
    k -> k * pow(1 - 2 / (9 * k) + 3.09 * sqrt(2 / (9 * k)), 3) AS chance,
    -- What two shares of one item add to the divergence of Jensen and Shannon, in bits.
    (p, q) -> (if(p > 0, p * log2(2 * p / (p + q)), 0) + if(q > 0, q * log2(2 * q / (p + q)), 0)) / 2 AS parting,
    -- Where there is no spread at all a difference of means is certain, and its absence too.
    (difference, spread) -> multiIf(spread > 0, difference / spread, difference = 0, 0, sign(difference) * 1e9) AS in_spreads
SELECT
    tenant,
    metric,
    CAST(statistic, 'LowCardinality(String)') AS statistic,
    value,
    -- Benjamini and Hochberg: the least p * tests / rank over this test and those that are more doubtful.
    if(
        isNull(p_alone),
        NULL,
        arrayMin((p, rank) -> if(p >= assumeNotNull(p_alone), least(p * length(ps) / rank, 1), 1), ps, arrayEnumerate(ps))
    ) AS p_value,
    threshold,
    baseline_n,
    candidate_n,
    CAST(
        multiIf(
            d.statistic = 'too_few_runs', false,
            isNull(p_value), value > threshold,
            assumeNotNull(p_value) <= threshold
        ),
        'Bool'
    ) AS drifted,
    examples,
    baseline_mean,
    candidate_mean
FROM
(
    SELECT
        tenant,
        ps,
        m.1 AS metric,
        m.2 AS statistic,
        m.3 AS value,
        m.4 AS p_alone,
        m.5 AS threshold,
        m.6 AS baseline_n,
        m.7 AS candidate_n,
        m.8 AS baseline_mean,
        m.9 AS candidate_mean,
        arrayMap(c -> c.2, arraySlice(arraySort(c -> (-c.1, c.2), arrayFilter(c -> c.1 > 0, m.10)), 1, 3)) AS examples
    FROM
    (
        SELECT
            tenant,
            -- The empty list gives a longest one of one: arrayMin takes no empty array.
            arraySort(arrayMap(x -> assumeNotNull(x.4), arrayFilter(x -> isNotNull(x.4), judged))) AS found,
            if(empty(found), [1.], found) AS ps,
            arrayJoin(judged) AS m
        FROM
        (
            SELECT
                tenant,
                if(
                    least(b_runs, c_runs) < 20,
                    [
                        (
                            'runs', 'too_few_runs', toFloat64(least(b_runs, c_runs)), CAST(NULL, 'Nullable(Float64)'), 20.,
                            b_runs, c_runs, CAST(NULL, 'Nullable(Float64)'), CAST(NULL, 'Nullable(Float64)'),
                            CAST([], 'Array(Tuple(Float64, String))')
                        )
                    ],
                    arrayConcat(
                        -- Mixes of tools, and of one tool after another.
                        arrayMap(
                            (name, i, b, c, b_square, c_square, lift) -> (
                                name,
                                'jensen_shannon',
                                arraySum(
                                    item -> parting(b[item] / b_runs, c[item] / c_runs),
                                    mapKeys(mapAdd(b, c))
                                ),
                                CAST(NULL, 'Nullable(Float64)'),
                                -- What two samples of one population differ by, from the spread between their runs.
                                greatest(
                                    0.01,
                                    arraySum(
                                        item -> (
                                            greatest(b_square[item] / b_runs - pow(b[item] / b_runs, 2), 0) / b_runs
                                                + greatest(c_square[item] / c_runs - pow(c[item] / c_runs, 2), 0) / c_runs
                                        ) / (b[item] / b_runs + c[item] / c_runs),
                                        mapKeys(mapAdd(b, c))
                                    ) / (4 * log(2))
                                        * chance(greatest(length(mapAdd(b, c)) - 1, 1))
                                        / greatest(length(mapAdd(b, c)) - 1, 1)
                                ),
                                b_runs,
                                c_runs,
                                CAST(NULL, 'Nullable(Float64)'),
                                CAST(NULL, 'Nullable(Float64)'),
                                arrayMap(
                                    run -> (
                                        arraySum(
                                            (item, share) -> share * lift[item],
                                            mapKeys(run.3[i]),
                                            mapValues(run.3[i])
                                        ),
                                        run.1
                                    ),
                                    candidates
                                )
                            ),
                            ['tool_mix', 'tool_transitions'],
                            [1, 2],
                            [b_shares, b_ways],
                            [c_shares, c_ways],
                            [b_squares, b_way_squares],
                            [c_squares, c_way_squares],
                            lifts
                        ),
                        -- The share of each tool, run by run (Welch; from 20 runs a side on, t is normal enough).
                        arrayMap(
                            (tool, b, c, b_square, c_square) -> (
                                concat('tool_share: ', tool),
                                'welch_t',
                                in_spreads(
                                    c - b,
                                    sqrt(
                                        greatest(b_square - b * b, 0) / (b_runs - 1)
                                            + greatest(c_square - c * c, 0) / (c_runs - 1)
                                    )
                                ) AS t,
                                toNullable(erfc(abs(t) / sqrt(2))),
                                0.01,
                                b_runs,
                                c_runs,
                                toNullable(b),
                                toNullable(c),
                                arrayMap(run -> (if(c > b, run.3[1][tool] - b, b - run.3[1][tool]), run.1), candidates)
                            ),
                            tools,
                            arrayMap(tool -> b_shares[tool] / b_runs, tools),
                            arrayMap(tool -> c_shares[tool] / c_runs, tools),
                            arrayMap(tool -> b_squares[tool] / b_runs, tools),
                            arrayMap(tool -> c_squares[tool] / c_runs, tools)
                        ),
                        arrayMap(
                            (name, i) -> (
                                name,
                                'kolmogorov_smirnov',
                                arrayReduce(
                                    'kolmogorovSmirnovTest(''two-sided'')',
                                    arrayMap(run -> assumeNotNull(run.2[i]), arrayFilter(run -> isNotNull(run.2[i]), everybody)),
                                    arrayMap(run -> run.1, arrayFilter(run -> isNotNull(run.2[i]), everybody))
                                ).1,
                                toNullable(arrayReduce(
                                    'kolmogorovSmirnovTest(''two-sided'')',
                                    arrayMap(run -> assumeNotNull(run.2[i]), arrayFilter(run -> isNotNull(run.2[i]), everybody)),
                                    arrayMap(run -> run.1, arrayFilter(run -> isNotNull(run.2[i]), everybody))
                                ).2),
                                0.01,
                                b_counts[i],
                                c_counts[i],
                                toNullable(b_means[i]),
                                toNullable(c_means[i]),
                                arrayMap(
                                    run -> (
                                        ifNull(if(c_means[i] > b_means[i], run.2[i] - b_means[i], b_means[i] - run.2[i]), 0),
                                        run.1
                                    ),
                                    candidates
                                )
                            ),
                            arrayFilter(
                                (name, b, c) -> least(b, c) >= 20,
                                ['steps_per_run', 'input_tokens', 'output_tokens', 'duration_ms'],
                                b_counts,
                                c_counts
                            ),
                            arrayFilter((i, b, c) -> least(b, c) >= 20, [1, 2, 3, 4], b_counts, c_counts)
                        ),
                        -- Durations again, by the tenths of the baseline: what the longest difference of the two
                        -- distributions does not show, a change of their ends.
                        arrayFilter(
                            x -> least(x.6, x.7) >= 20,
                            arrayMap(
                                edges -> (
                                    'duration_ms',
                                    'psi',
                                    arraySum(
                                        (p, q) -> (q - p) * log(q / p),
                                        arrayMap(
                                            (above, to) -> (arrayCount(x -> x > above AND x <= to, b_durations) + 0.5)
                                                / (length(b_durations) + 5),
                                            arrayPushFront(edges, -inf),
                                            arrayPushBack(edges, inf)
                                        ),
                                        arrayMap(
                                            (above, to) -> (arrayCount(x -> x > above AND x <= to, c_durations) + 0.5)
                                                / (length(c_durations) + 5),
                                            arrayPushFront(edges, -inf),
                                            arrayPushBack(edges, inf)
                                        )
                                    ),
                                    CAST(NULL, 'Nullable(Float64)'),
                                    greatest(0.2, chance(9) * (1 / b_counts[4] + 1 / c_counts[4])),
                                    b_counts[4],
                                    c_counts[4],
                                    toNullable(b_means[4]),
                                    toNullable(c_means[4]),
                                    arrayMap(
                                        run -> (
                                            ifNull(if(c_means[4] > b_means[4], run.2[4] - b_means[4], b_means[4] - run.2[4]), 0),
                                            run.1
                                        ),
                                        candidates
                                    )
                                ),
                                [deciles]
                            )
                        ),
                        arrayMap(
                            (name, i, b, c) -> (
                                name,
                                'proportions_z',
                                in_spreads(
                                    c / c_runs - b / b_runs,
                                    sqrt(
                                        (b + c) / (b_runs + c_runs) * (1 - (b + c) / (b_runs + c_runs))
                                            * (1 / b_runs + 1 / c_runs)
                                    )
                                ) AS z,
                                toNullable(erfc(abs(z) / sqrt(2))),
                                0.01,
                                b_runs,
                                c_runs,
                                toNullable(b / b_runs),
                                toNullable(c / c_runs),
                                arrayMap(
                                    run -> (toFloat64(if(c / c_runs > b / b_runs, run.4[i], 1 - run.4[i])), run.1),
                                    candidates
                                )
                            ),
                            ['failure_rate', 'incomplete_rate', 'loop_rate'], [1, 2, 3], b_flags, c_flags
                        )
                    )
                ) AS judged
            FROM
            (
                SELECT
                    tenant,
                    countIf(side = 0) AS b_runs,
                    countIf(side = 1) AS c_runs,
                    sumMapIf(mixes[1], side = 0) AS b_shares,
                    sumMapIf(mixes[1], side = 1) AS c_shares,
                    sumMapIf(mapApply((item, share) -> (item, share * share), mixes[1]), side = 0) AS b_squares,
                    sumMapIf(mapApply((item, share) -> (item, share * share), mixes[1]), side = 1) AS c_squares,
                    sumMapIf(mapApply((item, share) -> (item, share * share), mixes[2]), side = 0) AS b_way_squares,
                    sumMapIf(mapApply((item, share) -> (item, share * share), mixes[2]), side = 1) AS c_way_squares,
                    sumMapIf(mixes[2], side = 0) AS b_ways,
                    sumMapIf(mixes[2], side = 1) AS c_ways,
                    -- Those of one run in fifty at least; the rest shows in the mix.
                    arrayFilter(
                        tool -> greatest(b_shares[tool] / b_runs, c_shares[tool] / c_runs) >= 0.02,
                        mapKeys(mapAdd(b_shares, c_shares))
                    ) AS tools,
                    groupArray((side, numbers)) AS everybody,
                    sumForEachIf(arrayMap(x -> toUInt64(isNotNull(x)), numbers), side = 0) AS b_counts,
                    sumForEachIf(arrayMap(x -> toUInt64(isNotNull(x)), numbers), side = 1) AS c_counts,
                    arrayMap(
                        (total, n) -> total / n,
                        sumForEachIf(arrayMap(x -> ifNull(x, 0), numbers), side = 0),
                        b_counts
                    ) AS b_means,
                    arrayMap(
                        (total, n) -> total / n,
                        sumForEachIf(arrayMap(x -> ifNull(x, 0), numbers), side = 1),
                        c_counts
                    ) AS c_means,
                    groupArrayIf(assumeNotNull(numbers[4]), side = 0 AND isNotNull(numbers[4])) AS b_durations,
                    groupArrayIf(assumeNotNull(numbers[4]), side = 1 AND isNotNull(numbers[4])) AS c_durations,
                    quantilesExactIf(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)(
                        assumeNotNull(numbers[4]),
                        side = 0 AND isNotNull(numbers[4])
                    ) AS deciles,
                    sumForEachIf(flags, side = 0) AS b_flags,
                    sumForEachIf(flags, side = 1) AS c_flags,
                    -- How much more often an item comes in the candidate, as a logarithm.
                    arrayMap(
                        (b, c) -> mapFromArrays(
                            mapKeys(mapAdd(b, c)),
                            arrayMap(
                                item -> log2((c[item] + 0.5) / (c_runs + 1) * (b_runs + 1) / (b[item] + 0.5)),
                                mapKeys(mapAdd(b, c))
                            )
                        ),
                        [b_shares, b_ways],
                        [c_shares, c_ways]
                    ) AS lifts,
                    -- Those of the candidate in which examples are looked for: 500 by chance, always the same.
                    arraySlice(
                        arraySort(
                            run -> sipHash64(run.1),
                            groupArrayIf((run_id, numbers, mixes, flags), side = 1)
                        ),
                        1,
                        500
                    ) AS candidates
                FROM
                (
                    SELECT
                        r.tenant AS tenant,
                        r.run_id AS run_id,
                        r.side AS side,
                        [
                            toNullable(toFloat64(r.steps)),
                            toFloat64(r.input_tokens),
                            toFloat64(r.output_tokens),
                            r.duration_ms
                        ] AS numbers,
                        [
                            toUInt64(r.outcome = 'error'),
                            toUInt64(r.outcome = 'incomplete'),
                            toUInt64((r.tenant, r.run_id) IN (SELECT tenant, run_id FROM loops))
                        ] AS flags,
                        if(empty(t.tools), ['(no tool)'], t.tools) AS tools,
                        arrayMap(
                            (x, next) -> concat(x, ' > ', next),
                            arrayPushFront(tools, '(start)'),
                            arrayPushBack(tools, '(end)')
                        ) AS ways,
                        arrayMap(
                            items -> CAST(
                                (
                                    arrayDistinct(items),
                                    arrayMap(x -> countEqual(items, x) / length(items), arrayDistinct(items))
                                ),
                                'Map(String, Float64)'
                            ),
                            [tools, ways]
                        ) AS mixes
                    FROM
                    (
                        SELECT
                            tenant,
                            run_id,
                            steps,
                            input_tokens,
                            output_tokens,
                            duration_ms,
                            outcome,
                            arrayJoin(
                                arrayConcat(
                                    if(
                                        ({baseline_from:String} = ''
                                            OR started_at >= parseDateTime64BestEffortOrNull({baseline_from:String}, 9, 'UTC'))
                                        AND ({baseline_to:String} = ''
                                            OR started_at < parseDateTime64BestEffortOrNull({baseline_to:String}, 9, 'UTC'))
                                        AND ({baseline_version:String} = ''
                                            OR {baseline_version:String} IN (agent_version, service_version)),
                                        [0],
                                        []
                                    ),
                                    if(
                                        ({candidate_from:String} = ''
                                            OR started_at >= parseDateTime64BestEffortOrNull({candidate_from:String}, 9, 'UTC'))
                                        AND ({candidate_to:String} = ''
                                            OR started_at < parseDateTime64BestEffortOrNull({candidate_to:String}, 9, 'UTC'))
                                        AND ({candidate_version:String} = ''
                                            OR {candidate_version:String} IN (agent_version, service_version)),
                                        [1],
                                        []
                                    )
                                )
                            ) AS side
                        FROM runs
                        WHERE outcome != 'running'
                            AND run_kind != 'demo'
                            AND ({agent:String} = '' OR agent_name = {agent:String})
                    ) AS r
                    LEFT JOIN
                    (
                        SELECT
                            tenant,
                            run_id,
                            arrayMap(x -> x.2, arraySort(groupArray((ordinal, tool_name)))) AS tools
                        FROM tool_calls
                        GROUP BY tenant, run_id
                    ) AS t ON t.tenant = r.tenant AND t.run_id = r.run_id
                )
                GROUP BY tenant
            )
        )
    )
) AS d
