-- title: What runs of two populations ran with, as far as it differs, and which parts are on record at all
-- params: baseline_from String, baseline_to String, baseline_version String, candidate_from String, candidate_to String, candidate_version String, agent String ('' = open, any), rows UInt32
-- returns: the columns of the view circumstances: all that changed, and of prompts and definitions also the others
SELECT
    part,
    name,
    value,
    baseline_runs,
    candidate_runs,
    baseline_n,
    candidate_n,
    p_value,
    changed,
    first_at,
    baseline_examples,
    candidate_examples,
    found_in,
    found_call
FROM circumstances(
    baseline_from = {baseline_from:String},
    baseline_to = {baseline_to:String},
    baseline_version = {baseline_version:String},
    candidate_from = {candidate_from:String},
    candidate_to = {candidate_to:String},
    candidate_version = {candidate_version:String},
    agent = {agent:String}
)
WHERE changed OR part NOT IN ('user', 'tool', 'tool_result', 'document', 'input_length')
ORDER BY
    changed DESC,
    part,
    name,
    baseline_runs + candidate_runs DESC,
    value
LIMIT {rows:UInt32}
