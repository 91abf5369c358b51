-- title: messages, one row per message that a model call read or produced
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   model_call UInt32: ordinal of the model call
--   direction LowCardinality(String): input or output
--   position UInt32: place in that list, from 1
--   role LowCardinality(String): system, user, assistant or tool
--   message_hash String: comparison hash; equal for the same content in two runs
--   content String: JSON of the message in the parts format
--   first_call UInt32: ordinal of the model call in which the run first said it
--   new_in_call Bool: true when this call is that first one
-- example: SELECT model_call, role, content FROM messages WHERE run_id = {run_id:String} AND new_in_call ORDER BY model_call, direction, position
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    c.ordinal AS model_call,
    CAST(if(c.said.1 = 1, 'input', 'output'), 'LowCardinality(String)') AS direction,
    c.said.2 AS position,
    v.role AS role,
    v.hash AS message_hash,
    v.json AS content,
    v.first_call AS first_call,
    CAST(v.first_call = c.ordinal, 'Bool') AS new_in_call
FROM
(
    SELECT
        tenant,
        run_id,
        generation,
        ordinal,
        -- (1 input or 2 output, position, number of the value)
        arrayJoin(
            arrayConcat(
                arrayMap((n, i) -> (1, i, n), input_values, arrayEnumerate(input_values)),
                arrayMap((n, i) -> (2, i, n), output_values, arrayEnumerate(output_values))
            )
        ) AS said,
        said.3 AS number
    FROM canon_model_calls
) AS c
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
INNER JOIN canon_values AS v
    ON v.tenant = c.tenant AND v.run_id = c.run_id AND v.generation = c.generation AND v.number = c.number
