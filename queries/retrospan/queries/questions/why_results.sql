-- title: What some tool calls of a run were given and returned
-- params: run_id String, calls Array(UInt32), most UInt32 (characters of a text)
-- returns: one row per call, its texts cut; …_length counts the characters of the whole text
SELECT
    run_id,
    ordinal,
    tool_name,
    substringUTF8(c.arguments, 1, {most:UInt32}) AS arguments,
    lengthUTF8(c.arguments) AS arguments_length,
    substringUTF8(c.result, 1, {most:UInt32}) AS result,
    lengthUTF8(c.result) AS result_length
FROM tool_calls AS c
WHERE run_id = {run_id:String}
    AND has({calls:Array(UInt32)}, ordinal)
ORDER BY ordinal
