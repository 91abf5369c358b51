-- title: What some model calls of a run were told to be, and which tools they were offered
-- params: run_id String, calls Array(UInt32), most UInt32 (characters of a text)
-- returns: one row per call: the text of its instructions and definitions as JSON
SELECT
    run_id,
    ordinal,
    substringUTF8(system_instructions, 1, {most:UInt32}) AS instructions,
    lengthUTF8(system_instructions) AS instructions_length,
    substringUTF8(tool_definitions, 1, {most:UInt32}) AS definitions,
    lengthUTF8(tool_definitions) AS definitions_length
FROM model_calls
WHERE run_id = {run_id:String}
    AND has({calls:Array(UInt32)}, ordinal)
ORDER BY ordinal
