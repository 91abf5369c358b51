-- title: One run, as far as it matters to why it went as it did
-- params: run_id String, most UInt32 (characters of a text; 0 = whole)
-- returns: one row per run, some of the columns of the view runs, texts cut; …_length counts the characters of the whole
-- effects_read, findings_read: how many effects and findings there may be, former readings counted too: of 0 the views
-- effects and findings need not be asked
SELECT
    run_id,
    origin_run_id,
    parent_run_id,
    parent_link,
    run_kind,
    agent_name,
    agent_version,
    service_name,
    service_version,
    started_at,
    ended_at,
    duration_ms,
    outcome,
    incomplete_because,
    ended_by,
    if({most:UInt32} = 0, r.input, substringUTF8(r.input, 1, {most:UInt32})) AS input,
    lengthUTF8(r.input) AS input_length,
    lower(hex(sipHash128(r.input))) AS input_hash,
    if({most:UInt32} = 0, r.output, substringUTF8(r.output, 1, {most:UInt32})) AS output,
    lengthUTF8(r.output) AS output_length,
    steps,
    model_calls,
    tool_calls,
    errors,
    input_tokens,
    output_tokens,
    dialects,
    problems,
    fork_step,
    (SELECT count() FROM canon_effects WHERE run_id = {run_id:String}) AS effects_read,
    (SELECT count() FROM canon_findings WHERE run_id = {run_id:String}) AS findings_read
FROM runs AS r
WHERE run_id = {run_id:String}
