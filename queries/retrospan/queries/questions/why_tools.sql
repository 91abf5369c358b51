-- title: Which tools a run called, how that went, which calls were made again, and which came back alike
-- params: run_id String, rows UInt32 (of each kind)
-- returns: one row per group of calls of a tool: kind says what is in common; groups, how many there are
-- Steps are NULL where the tool has no spans. In a row: no other tool call stands between the first and the last.
SELECT
    kind,
    agent_name,
    tool_name,
    any(stated_effect) AS effect,
    any(own_status) AS status,
    count() AS calls,
    min(ordinal) AS first_ordinal,
    max(ordinal) AS last_ordinal,
    min(step) AS first_step,
    max(step) AS last_step,
    min(asked_by) AS first_asked_by,
    calls = last_ordinal - first_ordinal + 1 AS in_a_row,
    uniqExact(arguments_hash) AS arguments,
    uniqExact(result_hash) AS results,
    countIf(isNull(result_hash)) AS results_unknown,
    countIf(own_status = 'error') AS failed,
    argMin(ordinal, -result_length) AS longest_ordinal,
    max(result_length) AS longest_result,
    count() OVER (PARTITION BY kind) AS groups
FROM
(
    SELECT
        arrayJoin(['status', 'arguments', 'result']) AS kind,
        multiIf(
            kind = 'arguments', arguments_hash,
            kind = 'result', result_hash,
            concat(status, '/', ifNull(effect, ''))
        ) AS in_common,
        agent_name,
        tool_name,
        ordinal,
        step,
        asked_by,
        effect AS stated_effect,
        status AS own_status,
        arguments_hash,
        result_hash,
        toInt64(ifNull(length(result), 0)) AS result_length
    FROM tool_calls
    WHERE run_id = {run_id:String}
)
WHERE isNotNull(in_common) AND (kind = 'status' OR (own_status IN ('ok', 'error', 'incomplete') AND tool_name != ''))
GROUP BY
    kind,
    in_common,
    agent_name,
    tool_name
HAVING multiIf(
    kind = 'arguments', calls > 2 OR (calls = 2 AND (results > 1 OR failed > 0)),
    kind = 'result', calls > 2 AND arguments > 1,
    true
)
ORDER BY
    kind,
    in_a_row AND calls > 2 DESC,
    first_ordinal
LIMIT {rows:UInt32} BY kind
