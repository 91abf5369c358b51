-- title: Whether scores of evaluations differ from those before, name by name; what drifted first
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String ('' = open, any)
-- returns: one row per name and label: the columns of the view score_drift
SELECT
    name,
    label,
    statistic,
    value,
    p_value,
    threshold,
    baseline_n,
    candidate_n,
    drifted,
    examples,
    baseline_mean,
    candidate_mean,
    baseline_median,
    candidate_median,
    unknown,
    baseline_runs,
    candidate_runs
FROM score_drift(
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
    p_value ASC NULLS LAST,
    name,
    label
LIMIT 200
