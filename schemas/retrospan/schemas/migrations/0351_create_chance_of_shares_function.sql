-- title: the probability that two shares differ by chance as much as they do: Fisher's exact test, two-sided
-- params: found Int64 (of the one side those that have it), runs Int64 (all of that side, more than 0), other_found Int64, other_runs Int64 (the same of the other side)
-- returns: Float64; what lies forty standard deviations away and more counts as impossible, so the rows looked at stay few
CREATE FUNCTION IF NOT EXISTS retrospan_chance_of_shares AS (found, runs, other_found, other_runs) -> arrayMap(
    (x, n, m, k) -> arrayMap(
        (mean, away) -> arrayMap(
            -- How likely each number is that the one side could have had, as a logarithm, all by the same factor.
            (logs, own) -> arraySum(l -> if(l <= own + 1e-7, exp(l - arrayMax(logs)), 0), logs)
                / arraySum(l -> exp(l - arrayMax(logs)), logs),
            [
                arrayMap(
                    i -> -lgamma(i + 1) - lgamma(k - i + 1) - lgamma(n - i + 1) - lgamma(m - k + i + 1),
                    range(
                        greatest(0, k - m, toInt64(floor(mean - away))),
                        least(n, k, toInt64(ceil(mean + away))) + 1
                    )
                )
            ],
            [-lgamma(x + 1) - lgamma(k - x + 1) - lgamma(n - x + 1) - lgamma(m - k + x + 1)]
        )[1],
        [k * n / (n + m)],
        [40 * sqrt(k / (n + m) * n * (m / (n + m)) * (n + m - k) / greatest(n + m - 1, 1)) + 40]
    )[1],
    [toInt64(found)],
    [toInt64(runs)],
    [toInt64(other_runs)],
    [toInt64(found) + toInt64(other_found)]
)[1]
