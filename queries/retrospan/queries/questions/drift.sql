-- title: Whether runs behave differently from those before, metric by metric; what drifted first
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String ('' = open, any)
-- returns: one row per metric: the columns of the view drift
SELECT
    metric,
    statistic,
    value,
    p_value,
    threshold,
    baseline_n,
    candidate_n,
    drifted,
    examples,
    baseline_mean,
    candidate_mean
FROM drift(
    baseline_from = {baseline_from:String},
    baseline_to = {baseline_to:String},
    baseline_version = {baseline_version:String},
    candidate_from = {candidate_from:String},
    candidate_to = {candidate_to:String},
    candidate_version = {candidate_version:String},
    agent = {agent:String}
)
ORDER BY
    drifted DESC,
    p_value ASC NULLS FIRST,
    metric,
    statistic
