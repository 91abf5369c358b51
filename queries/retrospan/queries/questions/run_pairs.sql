-- title: Pairs of runs of two populations that were asked the same, and of how many runs they are
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String ('' = open, any), most UInt32
-- returns: one row per pair: the columns of the view run_pairs; one with sides = 'none' where there is no pair
SELECT
    tenant,
    sides,
    run_a,
    run_b,
    possible,
    baseline_n,
    candidate_n,
    baseline_unknown,
    candidate_unknown
FROM run_pairs(
    baseline_from = {baseline_from:String},
    baseline_to = {baseline_to:String},
    baseline_version = {baseline_version:String},
    candidate_from = {candidate_from:String},
    candidate_to = {candidate_to:String},
    candidate_version = {candidate_version:String},
    agent = {agent:String},
    most = {most:UInt32}
)
