-- title: Which log records of a run are none of its steps, messages and stated events, by time
-- params: run_id String, trace_ids Array(String) (the run's), first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), most UInt32 (characters; 0 = whole), rows UInt32 (the greatest number)
-- returns: one row per record: at, kind, step, name, text, length (characters of the whole text)
SELECT
    at,
    kind,
    step,
    ifNull(name, '') AS name,
    if({most:UInt32} = 0, said, substringUTF8(said, 1, {most:UInt32})) AS text,
    lengthUTF8(said) AS length
FROM
(
    SELECT
        at,
        'log' AS kind,
        step,
        if(event_name != '', event_name, scope_name) AS name,
        arrayStringConcat(
            arrayFilter(
                x -> x != '',
                [
                    ifNull(toString(severity), ''),
                    if(
                        body != '',
                        body,
                        arrayStringConcat(
                            arrayFilter(x -> x != '', [attributes['exception.type'], attributes['exception.message']]),
                            ': '
                        )
                    )
                ]
            ),
            ' '
        ) AS said
    FROM logs
    WHERE run_id = {run_id:String}
        AND trace_id IN {trace_ids:Array(String)}
        AND NOT startsWith(event_name, 'retrospan.')
        AND (NOT startsWith(event_name, 'gen_ai.') OR event_name = 'gen_ai.client.operation.exception')
)
WHERE {first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32}
ORDER BY at, kind, name, text
LIMIT {rows:UInt32}
