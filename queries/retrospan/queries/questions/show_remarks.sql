-- title: What was said in a run besides its steps: stated events, evaluations, log records, by time
-- params: run_id String, trace_ids Array(String) (the run's), first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), most UInt32 (characters; 0 = whole), rows UInt32 (the greatest number)
-- returns: one row per remark: at, kind, step, name, text, length (characters of the whole text)
-- Log records that are steps, messages or one of the events are not among them: they are shown as that.
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
        'decision' AS kind,
        step,
        name,
        arrayStringConcat(arrayFilter(x -> x != '', [ifNull(chosen, ''), ifNull(rationale, '')]), ' · ') AS said
    FROM decisions
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT
        at,
        'approval' AS kind,
        step,
        decision AS name,
        arrayStringConcat(
            arrayFilter(x -> x != '', [if(isNull(approver), '', concat('by ', approver)), ifNull(explanation, '')]),
            ' · '
        ) AS said
    FROM approvals
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT at, 'checkpoint' AS kind, step, checkpoint_id AS name, ifNull(trigger, '') AS said
    FROM checkpoints
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT
        said_at AS at,
        'observation' AS kind,
        step,
        concat(entity_type, '/', entity_id) AS name,
        concat(field, if(isNull(value), ' cleared', concat(' = ', value))) AS said
    FROM observations
    WHERE run_id = {run_id:String}
    UNION ALL
    SELECT
        m.started_at AS at,
        'compaction' AS kind,
        m.step AS step,
        c.compaction AS name,
        if(
            isNull(c.tokens_before) AND isNull(c.tokens_after),
            '',
            concat(ifNull(toString(c.tokens_before), '?'), ' → ', ifNull(toString(c.tokens_after), '?'), ' tokens')
        ) AS said
    FROM context_use AS c
    INNER JOIN model_calls AS m ON m.run_id = c.run_id AND m.ordinal = c.model_call
    WHERE c.run_id = {run_id:String} AND c.compacted
    UNION ALL
    SELECT
        at,
        'evaluation' AS kind,
        step,
        name,
        arrayStringConcat(
            arrayFilter(
                x -> x != '',
                [
                    ifNull(toString(score), ''),
                    ifNull(label, ''),
                    if(isNull(error_type), '', concat('! ', error_type)),
                    if(isNull(judge), '', concat('by ', judge)),
                    ifNull(explanation, '')
                ]
            ),
            ' · '
        ) AS said
    FROM evaluations
    WHERE run_id = {run_id:String}
    UNION ALL
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
