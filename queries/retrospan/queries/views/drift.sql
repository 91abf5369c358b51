-- title: drift between two populations of runs, one row per metric with a verdict
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String
-- returns:
--   tenant LowCardinality(String): owner of the rows; each tenant is compared with itself
--   metric String: tool_mix, tool_transitions, tool_share: <tool>, steps_per_run, input_tokens, output_tokens, duration_ms, failure_rate, incomplete_rate, loop_rate; runs if there are too few
--   statistic LowCardinality(String): jensen_shannon (bits), welch_t, kolmogorov_smirnov, psi, proportions_z or too_few_runs
--   value Float64: the statistic; for too_few_runs the runs of the smaller side
--   p_value Nullable(Float64): probability of such a difference by chance, adjusted by Benjamini-Hochberg over all tests of the answer; NULL if the statistic has no test
--   threshold Float64: drifted if below it when there is a p_value, else if above it; for too_few_runs the runs needed
--   baseline_n UInt64: runs of the baseline that have the metric
--   candidate_n UInt64: runs of the candidate that have it
--   drifted Bool: the verdict; false for too_few_runs, where there is no verdict
--   examples Array(String): at most three runs of the candidate that show the difference best, out of 500 random ones if there are more
--   baseline_mean Nullable(Float64): mean over the runs of the baseline, or their share; NULL for a mix
--   candidate_mean Nullable(Float64): the same for the candidate
-- note: times are texts, '' = open; from is included, to is not. A version is that of the agent or of its service, '' = any; agent '' = all agents. Runs in progress and demo runs are left out.
-- example: SELECT metric, statistic, value, p_value, drifted FROM drift(baseline_from = '', baseline_to = '2026-01-01', baseline_version = '', candidate_from = '2026-01-01', candidate_to = '', candidate_version = '', agent = '')
WITH
    -- What chance stays under in 999 of 1,000 cases: chi-squared with k degrees of freedom (Wilson and Hilferty).
    k -> k * pow(1 - 2 / (9 * k) + 3.09 * sqrt(2 / (9 * k)), 3) AS chi2_quantile,
    -- What two shares of one item add to the divergence of Jensen and Shannon, in bits.
    (p, q) -> (if(p > 0, p * log2(2 * p / (p + q)), 0) + if(q > 0, q * log2(2 * q / (p + q)), 0)) / 2 AS jensen_shannon,
    -- Where there is no spread at all a difference of means is certain, and its absence too.
    (difference, spread) -> multiIf(spread > 0, difference / spread, difference = 0, 0, sign(difference) * 1e9) AS z_score,
    -- The variance of a share, of its sum and the sum of its squares over so many runs.
    (total, square, runs) -> greatest(square / runs - pow(total / runs, 2), 0) AS variance,
    -- The same of both sides together, each about its own mean: what chance adds where one side is small, or all alike.
    (b_total, b_square, b_runs, c_total, c_square, c_runs) -> greatest(
        b_square - pow(b_total, 2) / b_runs + c_square - pow(c_total, 2) / c_runs,
        0
    ) / (b_runs + c_runs - 2) * (1 / b_runs + 1 / c_runs) AS pooled_variance,
    -- The mixes of runs as vectors, each item by the weight that it has in the divergence; and those about their mean.
    (seen, items, weights) -> arrayMap(run -> arrayMap((item, weight) -> run[item] / sqrt(weight), items, weights), seen) AS vectors,
    (seen, mean) -> arrayMap(run -> arrayMap((x, m) -> x - m, run, mean), seen) AS centred,
    -- In how many independent ways runs differ (Satterthwaite): items of one run come together. Runs are compared with
    -- eight others, and with themselves as far as few runs can tell no better: that errs to the side of chance.
    runs -> if(
        arrayAvg(run -> dotProduct(run, run), runs) > 0,
        pow(arrayAvg(run -> dotProduct(run, run), runs), 2) / (
            arrayAvg(run -> pow(dotProduct(run, run), 2), runs) / length(runs)
                + (1 - 1 / length(runs)) * arrayAvg(
                    away -> arrayAvg((x, y) -> pow(dotProduct(x, y), 2), runs, arrayRotateLeft(runs, away)),
                    range(1, 9)
                )
        ),
        1
    ) AS ways,
    -- How far a number lies on the candidate's side of the baseline's mean.
    (number, b_mean, c_mean) -> if(c_mean > b_mean, number - b_mean, b_mean - number) AS shift,
    -- Of ten bins, how much lies in one; half a run more in each, so that none is empty.
    (numbers, above, to) -> (arrayCount(x -> x > above AND x <= to, numbers) + 0.5) / (length(numbers) + 5) AS bin_share,
    -- How much more often each item comes in the candidate, as a logarithm.
    (b, c, b_runs, c_runs) -> mapFromArrays(
        mapKeys(mapAdd(b, c)),
        arrayMap(
            item -> log2((c[item] + 0.5) / (c_runs + 1) * (b_runs + 1) / (b[item] + 0.5)),
            mapKeys(mapAdd(b, c))
        )
    ) AS lift,
    -- Counted by the places of equal items: numbers are copied for each, where texts would be.
    (items, places) -> CAST(
        (arrayDistinct(items), arrayMap(place -> countEqual(places, place) / length(places), arrayDistinct(places))),
        'Map(String, Float64)'
    ) AS shares,
    (started_at, since, until) -> (since = '' OR started_at >= parseDateTime64BestEffortOrNull(since, 9, 'UTC'))
        AND (until = '' OR started_at < parseDateTime64BestEffortOrNull(until, 9, 'UTC')) AS is_within,
    -- Each run once for each side that it is on: 0 is the baseline, 1 the candidate.
    sided_runs AS
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
            ) AS side
        FROM runs
        WHERE outcome != 'running'
            AND run_kind != 'demo'
            AND ({agent:String} = '' OR agent_name = {agent:String})
    ),
    tool_sequences AS
    (
        SELECT h.tenant AS tenant, h.run_id AS run_id, h.tools AS called
        FROM canon_habits AS h
        INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
            USING (tenant, run_id, generation)
    ),
    -- What is compared of each run.
    habits AS
    (
        SELECT
            r.tenant AS tenant,
            r.run_id AS run_id,
            r.side AS side,
            r.duration_ms AS duration_ms,
            [
                toNullable(toFloat64(r.steps)),
                toFloat64(r.input_tokens),
                toFloat64(r.output_tokens),
                r.duration_ms
            ] AS numbers,
            [
                toUInt64(r.outcome = 'error'),
                toUInt64(r.outcome IN ('incomplete', 'killed', 'lost')),
                toUInt64((r.tenant, r.run_id) IN (SELECT tenant, run_id FROM loops))
            ] AS flags,
            if(empty(t.called), ['(no tool)'], t.called) AS tools,
            shares(tools, arrayEnumerateDense(tools)) AS tool_share,
            arrayMap(
                (tool, next) -> concat(tool, ' > ', next),
                arrayPushFront(tools, '(start)'),
                arrayPushBack(tools, '(end)')
            ) AS transitions,
            arrayEnumerateDense(transitions) AS transition_places,
            shares(transitions, transition_places) AS transition_share
        FROM sided_runs AS r
        LEFT ANY JOIN tool_sequences AS t ON t.tenant = r.tenant AND t.run_id = r.run_id
    ),
    -- Both sides of a tenant in one row: `b_` is of the baseline, `c_` of the candidate.
    samples AS
    (
        SELECT
            tenant,
            countIf(side = 0) AS b_runs,
            countIf(side = 1) AS c_runs,
            sumMapIf(tool_share, side = 0) AS b_tools,
            sumMapIf(tool_share, side = 1) AS c_tools,
            sumMapIf(mapApply((tool, share) -> (tool, share * share), tool_share), side = 0) AS b_tool_squares,
            sumMapIf(mapApply((tool, share) -> (tool, share * share), tool_share), side = 1) AS c_tool_squares,
            sumMapIf(transition_share, side = 0) AS b_transitions,
            sumMapIf(transition_share, side = 1) AS c_transitions,
            sumMapIf(mapApply((pair, share) -> (pair, share * share), transition_share), side = 0) AS b_transition_squares,
            sumMapIf(mapApply((pair, share) -> (pair, share * share), transition_share), side = 1) AS c_transition_squares,
            -- Those of one run in fifty at least; the rest shows in the mix.
            arrayFilter(
                tool -> greatest(b_tools[tool] / b_runs, c_tools[tool] / c_runs) >= 0.02,
                mapKeys(mapAdd(b_tools, c_tools))
            ) AS tools,
            CAST(groupArray((side, numbers)), 'Array(Tuple(side UInt8, numbers Array(Nullable(Float64))))') AS everybody,
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
            groupArrayIf(assumeNotNull(duration_ms), side = 0 AND isNotNull(duration_ms)) AS b_durations,
            groupArrayIf(assumeNotNull(duration_ms), side = 1 AND isNotNull(duration_ms)) AS c_durations,
            quantilesExactIf(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)(
                assumeNotNull(duration_ms),
                side = 0 AND isNotNull(duration_ms)
            ) AS deciles,
            sumForEachIf(flags, side = 0) AS b_flags,
            sumForEachIf(flags, side = 1) AS c_flags,
            -- Runs of the baseline by whose mixes it is told how much chance does: 300 likewise.
            arraySlice(
                arraySort(
                    run -> sipHash64(run.1),
                    groupArrayIf((run_id, [tool_share, transition_share]), side = 0)
                ),
                1,
                300
            ).2 AS seen,
            lift(b_tools, c_tools, b_runs, c_runs) AS tool_lift,
            lift(b_transitions, c_transitions, b_runs, c_runs) AS transition_lift,
            -- Those of the candidate in which examples are looked for: 500 by chance, always the same.
            CAST(
                arraySlice(
                    arraySort(
                        run -> sipHash64(run.1),
                        groupArrayIf((run_id, numbers, [tool_share, transition_share], flags), side = 1)
                    ),
                    1,
                    500
                ),
                'Array(Tuple(run_id String, numbers Array(Nullable(Float64)), shares Array(Map(String, Float64)), flags Array(UInt64)))'
            ) AS candidates
        FROM habits
        GROUP BY tenant
    ),
    -- Of both mixes the hundred items that weigh most, and in how many ways runs differ in them.
    spread AS
    (
        SELECT
            *,
            arrayMap(
                (i, items, weights) -> greatest(
                    ways(
                        arrayConcat(
                            centred(
                                vectors(arrayMap(run -> run[i], seen), items, weights) AS of_baseline,
                                arrayReduce('avgForEach', of_baseline)
                            ),
                            centred(
                                vectors(arrayMap(run -> run.shares[i], arraySlice(candidates, 1, 300)), items, weights) AS of_candidate,
                                arrayReduce('avgForEach', of_candidate)
                            )
                        )
                    ),
                    1
                ),
                [1, 2],
                arrayMap(
                    (items, weights) -> arraySlice(arrayReverseSort((item, weight) -> weight, items, weights), 1, 100),
                    [mapKeys(mapAdd(b_tools, c_tools)), mapKeys(mapAdd(b_transitions, c_transitions))] AS all_items,
                    [
                        arrayMap(item -> b_tools[item] / b_runs + c_tools[item] / c_runs, all_items[1]),
                        arrayMap(item -> b_transitions[item] / b_runs + c_transitions[item] / c_runs, all_items[2])
                    ] AS all_weights
                ),
                arrayMap(weights -> arraySlice(arrayReverseSort(weights), 1, 100), all_weights)
            ) AS freedom
        FROM samples
    ),
    tested AS
    (
        SELECT
            tenant,
            CAST(
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
                            (metric, i, b, c, b_square, c_square, lifts) -> (
                                metric,
                                'jensen_shannon',
                                arraySum(item -> jensen_shannon(b[item] / b_runs, c[item] / c_runs), mapKeys(mapAdd(b, c))),
                                CAST(NULL, 'Nullable(Float64)'),
                                -- What two samples of one population differ by, from the spread between their runs.
                                greatest(
                                    0.01,
                                    arraySum(
                                        item -> pooled_variance(b[item], b_square[item], b_runs, c[item], c_square[item], c_runs)
                                            / (b[item] / b_runs + c[item] / c_runs),
                                        mapKeys(mapAdd(b, c))
                                    ) / (4 * log(2)) * chi2_quantile(freedom[i]) / freedom[i]
                                ),
                                b_runs,
                                c_runs,
                                CAST(NULL, 'Nullable(Float64)'),
                                CAST(NULL, 'Nullable(Float64)'),
                                arrayMap(
                                    run -> (
                                        arraySum(
                                            (item, share) -> share * lifts[item],
                                            mapKeys(run.shares[i]),
                                            mapValues(run.shares[i])
                                        ),
                                        run.run_id
                                    ),
                                    candidates
                                )
                            ),
                            ['tool_mix', 'tool_transitions'],
                            [1, 2],
                            [b_tools, b_transitions],
                            [c_tools, c_transitions],
                            [b_tool_squares, b_transition_squares],
                            [c_tool_squares, c_transition_squares],
                            [tool_lift, transition_lift]
                        ),
                        -- The share of each tool, run by run (Welch; from 20 runs a side on, t is normal enough). The few runs
                        -- of a small side can happen to be alike: they are taken to differ as all do.
                        arrayMap(
                            (tool, b, c) -> (
                                concat('tool_share: ', tool),
                                'welch_t',
                                z_score(
                                    c - b,
                                    sqrt(
                                        greatest(
                                            variance(b_tools[tool], b_tool_squares[tool], b_runs) / (b_runs - 1)
                                                + variance(c_tools[tool], c_tool_squares[tool], c_runs) / (c_runs - 1),
                                            pooled_variance(
                                                b_tools[tool],
                                                b_tool_squares[tool],
                                                b_runs,
                                                c_tools[tool],
                                                c_tool_squares[tool],
                                                c_runs
                                            )
                                        )
                                    )
                                ) AS t,
                                toNullable(erfc(abs(t) / sqrt(2))),
                                0.01,
                                b_runs,
                                c_runs,
                                toNullable(b),
                                toNullable(c),
                                arrayMap(run -> (shift(run.shares[1][tool], b, c), run.run_id), candidates)
                            ),
                            tools,
                            arrayMap(tool -> b_tools[tool] / b_runs, tools),
                            arrayMap(tool -> c_tools[tool] / c_runs, tools)
                        ),
                        arrayMap(
                            (metric, i) -> (
                                metric,
                                'kolmogorov_smirnov',
                                -- The engine's gap differs from none, or from a whole one, in the last place.
                                round((
                                    -- The exact chance takes a step for each pair of runs. Of so many pairs the limit
                                    -- of large samples gave up to 7 % more, and never less.
                                    if(
                                        b_counts[i] * c_counts[i] > 4000000,
                                        arrayReduce(
                                            'kolmogorovSmirnovTest(''two-sided'', ''asymp'')',
                                            arrayMap(
                                                run -> assumeNotNull(run.numbers[i]),
                                                arrayFilter(run -> isNotNull(run.numbers[i]), everybody) AS measured
                                            ) AS measures,
                                            arrayMap(run -> run.side, measured) AS sides
                                        ),
                                        arrayReduce('kolmogorovSmirnovTest(''two-sided'')', measures, sides)
                                    ) AS gap_and_p
                                ).1, 12),
                                toNullable(gap_and_p.2),
                                0.01,
                                b_counts[i],
                                c_counts[i],
                                toNullable(b_means[i]),
                                toNullable(c_means[i]),
                                arrayMap(run -> (ifNull(shift(run.numbers[i], b_means[i], c_means[i]), 0), run.run_id), candidates)
                            ),
                            arrayFilter(
                                (metric, b, c) -> least(b, c) >= 20,
                                ['steps_per_run', 'input_tokens', 'output_tokens', 'duration_ms'],
                                b_counts,
                                c_counts
                            ),
                            arrayFilter((i, b, c) -> least(b, c) >= 20, [1, 2, 3, 4], b_counts, c_counts)
                        ),
                        -- Durations again, by the tenths of the baseline: what the longest difference of the two
                        -- distributions does not show, a change of their ends.
                        arrayMap(
                            i -> (
                                'duration_ms',
                                'psi',
                                arraySum(
                                    (p, q) -> (q - p) * log(q / p),
                                    arrayMap(
                                        (above, to) -> bin_share(b_durations, above, to),
                                        arrayPushFront(deciles, -inf),
                                        arrayPushBack(deciles, inf)
                                    ),
                                    arrayMap(
                                        (above, to) -> bin_share(c_durations, above, to),
                                        arrayPushFront(deciles, -inf),
                                        arrayPushBack(deciles, inf)
                                    )
                                ),
                                CAST(NULL, 'Nullable(Float64)'),
                                greatest(0.2, chi2_quantile(9) * (1 / b_counts[i] + 1 / c_counts[i])),
                                b_counts[i],
                                c_counts[i],
                                toNullable(b_means[i]),
                                toNullable(c_means[i]),
                                arrayMap(run -> (ifNull(shift(run.numbers[i], b_means[i], c_means[i]), 0), run.run_id), candidates)
                            ),
                            arrayFilter(i -> least(b_counts[i], c_counts[i]) >= 20, [4])
                        ),
                        arrayMap(
                            (metric, i, b, c) -> (
                                metric,
                                'proportions_z',
                                z_score(
                                    c / c_runs - b / b_runs,
                                    sqrt(
                                        (b + c) / (b_runs + c_runs) * (1 - (b + c) / (b_runs + c_runs))
                                            * (1 / b_runs + 1 / c_runs)
                                    )
                                ) AS z,
                                toNullable(retrospan_chance_of_shares(b, b_runs, c, c_runs)),
                                0.01,
                                b_runs,
                                c_runs,
                                toNullable(b / b_runs),
                                toNullable(c / c_runs),
                                arrayMap(
                                    run -> (toFloat64(if(c / c_runs > b / b_runs, run.flags[i], 1 - run.flags[i])), run.run_id),
                                    candidates
                                )
                            ),
                            ['failure_rate', 'incomplete_rate', 'loop_rate'],
                            [1, 2, 3],
                            b_flags,
                            c_flags
                        )
                    )
                ),
                'Array(Tuple(metric String, statistic String, value Float64, p Nullable(Float64), threshold Float64, baseline_n UInt64, candidate_n UInt64, baseline_mean Nullable(Float64), candidate_mean Nullable(Float64), examples Array(Tuple(shows Float64, run_id String))))'
            ) AS tests
        FROM spread
    ),
    listed AS
    (
        SELECT
            tenant,
            -- The empty list gives a longest one of one: arrayMin takes no empty array.
            arraySort(arrayMap(t -> assumeNotNull(t.p), arrayFilter(t -> isNotNull(t.p), tests))) AS found,
            if(empty(found), [1.], found) AS all_p,
            arrayJoin(tests) AS test
        FROM tested
    )
SELECT
    tenant,
    d.test.metric AS metric,
    CAST(d.test.statistic, 'LowCardinality(String)') AS statistic,
    d.test.value AS value,
    -- Benjamini and Hochberg: the least p * tests / rank over this test and those that are more doubtful.
    if(
        isNull(d.test.p),
        NULL,
        arrayMin((p, rank) -> if(p >= assumeNotNull(d.test.p), least(p * length(all_p) / rank, 1), 1), all_p, arrayEnumerate(all_p))
    ) AS p_value,
    d.test.threshold AS threshold,
    d.test.baseline_n AS baseline_n,
    d.test.candidate_n AS candidate_n,
    CAST(
        multiIf(
            d.test.statistic = 'too_few_runs', false,
            isNull(p_value), value > threshold,
            assumeNotNull(p_value) <= threshold
        ),
        'Bool'
    ) AS drifted,
    arraySlice(
        arraySort(e -> (-e.shows, e.run_id), arrayFilter(e -> e.shows > 0, d.test.examples)),
        1,
        3
    ).run_id AS examples,
    d.test.baseline_mean AS baseline_mean,
    d.test.candidate_mean AS candidate_mean
FROM listed AS d
