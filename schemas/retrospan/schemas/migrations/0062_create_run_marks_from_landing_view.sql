-- title: unnests the flags and holds of each record of the log into run_marks
CREATE MATERIALIZED VIEW IF NOT EXISTS run_marks_from_landing TO run_marks AS
SELECT
    tenant,
    JSONExtractString(body, 'run_id') AS run_id,
    kind AS mark,
    at,
    sequence,
    JSONExtractBool(body, 'set') AS is_set,
    if(
        JSONExtractInt(body, 'until') = 0,
        NULL,
        fromUnixTimestamp64Nano(JSONExtractInt(body, 'until'), 'UTC')
    ) AS until,
    JSONExtractString(body, 'reason') AS reason,
    JSONExtractString(body, 'by') AS by
FROM
(
    SELECT
        tenant,
        sequence,
        at,
        tupleElement(note, 'kind') AS kind,
        tupleElement(note, 'body') AS body
    FROM
    (
        SELECT
            tenant,
            bitShiftLeft(log, 40) + sequence AS sequence,
            fromUnixTimestamp64Nano(toInt64(arrived_at), 'UTC') AS at,
            arrayJoin(notes) AS note
        FROM landing
    )
)
WHERE kind IN ('flag', 'hold')
