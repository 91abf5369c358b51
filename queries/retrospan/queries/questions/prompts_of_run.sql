-- title: What fills the prompts of a run, by estimate, the most first
-- params: run_id String, most UInt32 (rows)
-- returns: one row per message, system prompt or list of tools; `begins` is of the text
SELECT
    part,
    message,
    role,
    tool_name,
    first_call,
    prompts,
    bytes,
    tokens_estimated,
    share,
    cost_estimated,
    currency,
    substringUTF8(text, 1, 200) AS begins
FROM prompt_shares
WHERE run_id = {run_id:String}
ORDER BY share DESC, part, message
LIMIT {most:UInt32}
