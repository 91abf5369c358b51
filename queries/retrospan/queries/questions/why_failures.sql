-- title: The failures of a run, in order
-- params: run_id String, most UInt32 (characters of a text; 0 = whole), rows UInt32
-- returns: one row per failure, and how many there are; message_length counts the characters of the whole message
-- went_on: a step began after it
SELECT
    run_id,
    step,
    span_id,
    origin,
    class,
    error_type,
    if({most:UInt32} = 0, f.error_message, substringUTF8(f.error_message, 1, {most:UInt32})) AS error_message,
    lengthUTF8(f.error_message) AS message_length,
    handled,
    at,
    at <= (SELECT max(started_at) FROM steps WHERE run_id = {run_id:String}) AS went_on,
    count() OVER () AS total
FROM failures AS f
WHERE run_id = {run_id:String}
ORDER BY
    at,
    step NULLS LAST,
    span_id
LIMIT {rows:UInt32}
