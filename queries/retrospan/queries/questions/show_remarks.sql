-- title: What was said in a run besides its steps: stated events and evaluations, by time
-- params: run_id String, first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), most UInt32 (characters; 0 = whole), rows UInt32 (the greatest number)
-- returns: one row per remark: at, kind, step, name, text, length (characters of the whole text)
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
        at,
        'compaction' AS kind,
        step,
        compaction AS name,
        if(
            isNull(tokens_before) AND isNull(tokens_after),
            '',
            concat(ifNull(toString(tokens_before), '?'), ' → ', ifNull(toString(tokens_after), '?'), ' tokens')
        ) AS said
    FROM context_use
    WHERE run_id = {run_id:String} AND compacted
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
)
WHERE {first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32}
ORDER BY at, kind, name, text
LIMIT {rows:UInt32}
