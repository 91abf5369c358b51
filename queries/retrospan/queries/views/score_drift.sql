-- title: scores of two populations of runs beside each other, one row per name of an evaluation, and per label
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String
-- returns:
--   tenant LowCardinality(String): owner of the rows; each tenant is compared with itself
--   name LowCardinality(String): what was measured, such as relevance
--   label String: the label whose share is compared; '' where the numbers are
--   statistic LowCardinality(Nullable(String)): kolmogorov_smirnov of numbers, proportions_z of labels and of numbers that are all 0 or 1; NULL if there is no verdict
--   value Nullable(Float64): the statistic; NULL if there is no verdict
--   p_value Nullable(Float64): probability of such a difference by chance, adjusted by Benjamini-Hochberg over all tests of the answer; NULL if there is no verdict
--   threshold Float64: drifted if p_value is this at most
--   baseline_n UInt64: runs of the baseline that have a number, of a label: that have any label of the name
--   candidate_n UInt64: the same of the candidate
--   drifted Bool: the verdict; false where there is none
--   examples Array(String): at most three runs of the candidate that show the difference best
--   baseline_mean Nullable(Float64): mean over the runs of the baseline that have a number, of a label: the share of runs that have it; NULL if there are no such runs
--   candidate_mean Nullable(Float64): the same of the candidate
--   baseline_median Nullable(Float64): their median; NULL for a label
--   candidate_median Nullable(Float64): the same of the candidate
--   unknown LowCardinality(Nullable(String)): why there is no verdict: not_scored (no run of a side has it) or too_few_runs (fewer than 20 of a side have it); NULL if there is one
--   baseline_runs UInt64: all runs of the baseline
--   candidate_runs UInt64: all runs of the candidate
-- note: times and versions choose runs as in drift, '' = open or any. A run counts once for a name, by the mean of its scores; see run_scores. Of a name the 10 most frequent labels have a row. Whether more is better is for the evaluator to say.
-- example: SELECT name, label, baseline_mean, candidate_mean, p_value, drifted, unknown FROM score_drift(baseline_from = '', baseline_to = '2026-01-01', baseline_version = '', candidate_from = '2026-01-01', candidate_to = '', candidate_version = '', agent = '')
WITH
    (started_at, since, until) -> (since = '' OR started_at >= parseDateTime64BestEffortOrNull(since, 9, 'UTC'))
        AND (until = '' OR started_at < parseDateTime64BestEffortOrNull(until, 9, 'UTC')) AS is_within,
    -- Where there is no spread at all a difference of shares is certain, and its absence too.
    (difference, spread) -> multiIf(spread > 0, difference / spread, difference = 0, 0, sign(difference) * 1e9) AS z_score,
    -- Each run once for each side that it is on, as in circumstances: 0 is the baseline, 1 the candidate.
    sided AS
    (
        SELECT
            tenant,
            run_id,
            arrayJoin(
                arrayConcat(
                    if(
                        is_within(started_at, {baseline_from:String}, {baseline_to:String})
                            AND ({baseline_version:String} = ''
                                OR ifNull({baseline_version:String} IN (agent_version, service_version), false)),
                        [0],
                        []
                    ),
                    if(
                        is_within(started_at, {candidate_from:String}, {candidate_to:String})
                            AND ({candidate_version:String} = ''
                                OR ifNull({candidate_version:String} IN (agent_version, service_version), false)),
                        [1],
                        []
                    )
                )
            ) AS side
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
    ),
    sizes AS
    (
        SELECT tenant, countIf(side = 0) AS baseline_runs, countIf(side = 1) AS candidate_runs
        FROM sided
        GROUP BY tenant
    ),
    scored AS
    (
        SELECT s.tenant AS tenant, s.run_id AS run_id, s.name AS name, s.mean AS mean, s.labels AS labels, r.side AS side
        FROM run_scores AS s
        INNER JOIN sided AS r ON r.tenant = s.tenant AND r.run_id = s.run_id
    ),
    of_numbers AS
    (
        SELECT
            tenant,
            name,
            '' AS label,
            countIf(side = 0) AS b,
            countIf(side = 1) AS c,
            groupArray(assumeNotNull(mean)) AS numbers,
            groupArray(toUInt8(side)) AS sides,
            if(b = 0, NULL, avgIf(assumeNotNull(mean), side = 0)) AS b_mean,
            if(c = 0, NULL, avgIf(assumeNotNull(mean), side = 1)) AS c_mean,
            if(b = 0, NULL, quantileExactInclusiveIf(0.5)(assumeNotNull(mean), side = 0)) AS b_median,
            if(c = 0, NULL, quantileExactInclusiveIf(0.5)(assumeNotNull(mean), side = 1)) AS c_median,
            -- Two values only are a share, and no distribution.
            countIf(mean NOT IN (0, 1)) = 0 AS is_share,
            groupArraySortedIf(3)((assumeNotNull(mean), run_id), side = 1).2 AS lowest,
            groupArraySortedIf(3)((-assumeNotNull(mean), run_id), side = 1).2 AS highest
        FROM scored
        WHERE isNotNull(mean)
        GROUP BY tenant, name
    ),
    of_labels AS
    (
        SELECT
            l.tenant AS tenant,
            l.name AS name,
            l.label AS label,
            n.b AS b,
            n.c AS c,
            if(n.b = 0, NULL, l.b_having / n.b) AS b_mean,
            if(n.c = 0, NULL, l.c_having / n.c) AS c_mean,
            l.having AS highest
        FROM
        (
            SELECT
                tenant,
                name,
                arrayJoin(labels) AS label,
                countIf(side = 0) AS b_having,
                countIf(side = 1) AS c_having,
                groupArraySortedIf(3)(run_id, side = 1) AS having
            FROM scored
            GROUP BY tenant, name, label
            ORDER BY b_having + c_having DESC, label
            LIMIT 10 BY tenant, name
        ) AS l
        INNER JOIN
        (
            SELECT tenant, name, countIf(side = 0) AS b, countIf(side = 1) AS c
            FROM scored
            WHERE notEmpty(labels)
            GROUP BY tenant, name
        ) AS n
            ON n.tenant = l.tenant AND n.name = l.name
    ),
    listed AS
    (
        SELECT
            tenant,
            name,
            label,
            b,
            c,
            is_share,
            -- An array that is not tested stands for two of one each: no test takes none.
            -- Of many pairs of runs the limit of large samples, as in `drift`.
            if(
                b * c > 4000000,
                arrayReduce(
                    'kolmogorovSmirnovTest(''two-sided'', ''asymp'')',
                    if(least(b, c) < 20 OR is_share, [0., 1.], numbers),
                    if(least(b, c) < 20 OR is_share, [0, 1], sides)
                ),
                arrayReduce(
                    'kolmogorovSmirnovTest(''two-sided'')',
                    if(least(b, c) < 20 OR is_share, [0., 1.], numbers),
                    if(least(b, c) < 20 OR is_share, [0, 1], sides)
                )
            ) AS gap_and_p,
            b_mean,
            c_mean,
            b_median,
            c_median,
            if(ifNull(c_mean > b_mean, true), highest, lowest) AS shown_by
        FROM of_numbers
        UNION ALL
        SELECT
            tenant,
            name,
            label,
            b,
            c,
            true AS is_share,
            (0., 1.) AS gap_and_p,
            b_mean,
            c_mean,
            NULL AS b_median,
            NULL AS c_median,
            if(ifNull(c_mean > b_mean, true), highest, []) AS shown_by
        FROM of_labels
    ),
    tested AS
    (
        SELECT
            *,
            CAST(multiIf(least(b, c) = 0, 'not_scored', b < 20 OR c < 20, 'too_few_runs', NULL), 'Nullable(String)') AS unknown,
            ifNull(b_mean, 0) AS p_b,
            ifNull(c_mean, 0) AS p_c,
            (p_b * b + p_c * c) / greatest(b + c, 1) AS share,
            z_score(p_c - p_b, sqrt(greatest(share * (1 - share), 0) * (1 / greatest(b, 1) + 1 / greatest(c, 1)))) AS z,
            -- The engine's gap differs from none, or from a whole one, in the last place.
            if(isNull(unknown), toNullable(if(is_share, z, round(gap_and_p.1, 12))), NULL) AS value,
            if(isNull(unknown), toNullable(if(is_share, retrospan_chance_of_shares(round(p_b * b), b, round(p_c * c), c), gap_and_p.2)), NULL) AS p
        FROM listed
    ),
    ranked AS
    (
        SELECT
            *,
            count(p) OVER (PARTITION BY tenant) AS tests,
            row_number() OVER (PARTITION BY tenant ORDER BY p ASC NULLS LAST) AS place
        FROM tested
    ),
    -- Benjamini and Hochberg, as in circumstances.
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
    a.name AS name,
    a.label AS label,
    CAST(
        multiIf(isNotNull(a.unknown), NULL, a.is_share, 'proportions_z', 'kolmogorov_smirnov'),
        'LowCardinality(Nullable(String))'
    ) AS statistic,
    a.value AS value,
    a.p_value AS p_value,
    0.01 AS threshold,
    a.b AS baseline_n,
    a.c AS candidate_n,
    CAST(ifNull(a.p_value <= threshold, false), 'Bool') AS drifted,
    a.shown_by AS examples,
    a.b_mean AS baseline_mean,
    a.c_mean AS candidate_mean,
    a.b_median AS baseline_median,
    a.c_median AS candidate_median,
    CAST(a.unknown, 'LowCardinality(Nullable(String))') AS unknown,
    z.baseline_runs AS baseline_runs,
    z.candidate_runs AS candidate_runs
FROM adjusted AS a
INNER JOIN sizes AS z ON z.tenant = a.tenant
SETTINGS join_use_nulls = 0
