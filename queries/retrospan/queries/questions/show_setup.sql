-- title: System instructions, tools and parameters of a model call
-- params: run_id String, model_call UInt32 (ordinal)
-- returns: one row: system_instructions (JSON parts), tool_definitions (JSON), parameters (JSON)
SELECT
    system_instructions,
    tool_definitions,
    parameters
FROM model_calls
WHERE run_id = {run_id:String}
    AND ordinal = {model_call:UInt32}
