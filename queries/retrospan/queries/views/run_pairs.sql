-- title: pairs of runs of two populations that were asked the same, for run_divergence to compare; one row per pair
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String, most UInt32
-- returns:
--   tenant LowCardinality(String): owner of the runs; each tenant is compared with itself
--   sides LowCardinality(String): across (a run of the baseline and one of the candidate), within (two of the baseline), or none: the one row where there is no pair
--   run_a Nullable(String): a run of the baseline; NULL for none
--   run_b Nullable(String): the run to compare it with: one of the candidate, or within the baseline a newer one; NULL for none
--   possible UInt64: pairs of this kind that there are among the runs looked at
--   baseline_n UInt64: runs of the baseline
--   candidate_n UInt64: runs of the candidate
--   baseline_unknown UInt64: runs of the baseline, of those looked at, whose input is not on record
--   candidate_unknown UInt64: the same of the candidate
-- note: times and versions choose runs as in drift, '' = open or any; a run that is on both sides counts for the candidate. Of each side the 1,000 newest runs are looked at.
-- note: two runs were asked the same if their inputs are equal, ids in them aside. Of one input the newest run of a side goes with the newest of the other, the second with the second; no run is in two pairs of a kind. At most `most` pairs of a kind are listed, one of each input before a second of any, of inputs by chance, always the same.
-- example: SELECT run_a, run_b FROM run_pairs(baseline_from = '', baseline_to = '2026-01-01', baseline_version = '', candidate_from = '2026-01-01', candidate_to = '', candidate_version = '', agent = '', most = 40) WHERE sides = 'across'
WITH
    (started_at, since, until) -> (since = '' OR started_at >= parseDateTime64BestEffortOrNull(since, 9, 'UTC'))
        AND (until = '' OR started_at < parseDateTime64BestEffortOrNull(until, 9, 'UTC')) AS is_within,
    -- Found once, as a value, as in circumstances: how many runs each side has, and its newest.
    (
        SELECT groupArray((tenant, side, runs, newest))
        FROM
        (
            SELECT
                tenant,
                side,
                count() AS runs,
                groupArraySorted(1000)((-toUnixTimestamp64Nano(started_at), run_id)) AS newest
            FROM
            (
                SELECT
                    tenant,
                    run_id,
                    started_at,
                    multiIf(
                        is_within(started_at, {candidate_from:String}, {candidate_to:String})
                            AND ({candidate_version:String} = ''
                                OR ifNull({candidate_version:String} IN (agent_version, service_version), false)), 1,
                        is_within(started_at, {baseline_from:String}, {baseline_to:String})
                            AND ({baseline_version:String} = ''
                                OR ifNull({baseline_version:String} IN (agent_version, service_version), false)), 0,
                        2
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
            )
            WHERE side < 2
            GROUP BY tenant, side
        )
    ) AS found,
    looked_at AS
    (
        SELECT
            each.1 AS tenant,
            each.2 AS side,
            (arrayJoin(each.4) AS run).1 AS place,
            run.2 AS run_id
        FROM (SELECT arrayJoin(found) AS each)
    ),
    -- The runs of each input, the newest of a side first.
    asked AS
    (
        SELECT
            l.tenant AS tenant,
            r.key AS key,
            arraySort(groupArrayIf((l.place, l.run_id), l.side = 0)).2 AS baseline,
            arraySort(groupArrayIf((l.place, l.run_id), l.side = 1)).2 AS candidate
        FROM looked_at AS l
        INNER JOIN
        (
            SELECT tenant, run_id, retrospan_key_of_known(canon_runs.input, canon_runs.input_hash) AS key
            FROM canon_runs FINAL
            WHERE run_id IN (SELECT run_id FROM looked_at) AND NOT deleted
        ) AS r
            ON r.tenant = l.tenant AND r.run_id = l.run_id
        GROUP BY l.tenant, r.key
    ),
    pairs AS
    (
        SELECT
            tenant,
            pair.1 AS sides,
            pair.2 AS run_a,
            pair.3 AS run_b,
            count() OVER (PARTITION BY tenant, sides) AS possible,
            row_number() OVER (PARTITION BY tenant, sides ORDER BY pair.4, chance, run_b) AS place
        FROM
        (
            SELECT
                tenant,
                cityHash64(key) AS chance,
                arrayJoin(
                    arrayConcat(
                        arrayMap(
                            i -> ('across', baseline[i], candidate[i], i),
                            range(1, least(length(baseline), length(candidate)) + 1)
                        ),
                        arrayMap(
                            i -> ('within', baseline[2 * i], baseline[2 * i - 1], i),
                            range(1, intDiv(length(baseline), 2) + 1)
                        )
                    )
                ) AS pair
            FROM asked
            WHERE isNotNull(key)
        )
    ),
    sizes AS
    (
        SELECT
            s.tenant AS tenant,
            s.baseline_n AS baseline_n,
            s.candidate_n AS candidate_n,
            u.baseline_unknown AS baseline_unknown,
            u.candidate_unknown AS candidate_unknown
        FROM
        (
            SELECT each.1 AS tenant, sumIf(each.3, each.2 = 0) AS baseline_n, sumIf(each.3, each.2 = 1) AS candidate_n
            FROM (SELECT arrayJoin(found) AS each)
            GROUP BY tenant
        ) AS s
        LEFT JOIN
        (
            SELECT tenant, sum(length(baseline)) AS baseline_unknown, sum(length(candidate)) AS candidate_unknown
            FROM asked
            WHERE isNull(key)
            GROUP BY tenant
        ) AS u
            ON u.tenant = s.tenant
    )
SELECT
    CAST(z.tenant, 'LowCardinality(String)') AS tenant,
    CAST(if(p.sides = '', 'none', p.sides), 'LowCardinality(String)') AS sides,
    nullIf(p.run_a, '') AS run_a,
    nullIf(p.run_b, '') AS run_b,
    p.possible AS possible,
    z.baseline_n AS baseline_n,
    z.candidate_n AS candidate_n,
    z.baseline_unknown AS baseline_unknown,
    z.candidate_unknown AS candidate_unknown
FROM sizes AS z
LEFT JOIN (SELECT * FROM pairs WHERE place <= {most:UInt32}) AS p
    ON p.tenant = z.tenant
ORDER BY
    tenant,
    sides,
    p.place
SETTINGS join_use_nulls = 0
