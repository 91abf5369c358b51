-- title: the tool calls of two runs, as they are compared
-- params: run_ids Array(String), generations Array(UInt64), most UInt64 (rows)
-- returns: run_id, generation, ordinal, step, tool_name, error_type, error_message, arguments_hash, result_hash (both without ids in texts), arguments, result; long texts are cut
SELECT
    run_id,
    generation,
    ordinal,
    step,
    tool_name,
    error_type,
    error_message,
    retrospan_key_of_known(canon_tool_calls.arguments, canon_tool_calls.arguments_hash) AS arguments_key,
    retrospan_key_of_known(canon_tool_calls.result, canon_tool_calls.result_hash) AS result_key,
    substringUTF8(arguments, 1, 500) AS short_arguments,
    substringUTF8(result, 1, 500) AS short_result
FROM canon_tool_calls
WHERE run_id IN {run_ids:Array(String)} AND generation IN {generations:Array(UInt64)}
LIMIT {most:UInt64}
