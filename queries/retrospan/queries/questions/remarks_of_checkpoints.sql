-- title: The checkpoints of a run, a remark each, by time
-- params: run_id String, first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), most UInt32 (characters; 0 = whole), rows UInt32 (the greatest number)
-- returns: one row per remark: at, kind, step, name, text, length (characters of the whole text)
SELECT
    at,
    kind,
    step,
    remark AS name,
    if({most:UInt32} = 0, said, substringUTF8(said, 1, {most:UInt32})) AS text,
    lengthUTF8(said) AS length
FROM
(
    SELECT
        at,
        'checkpoint' AS kind,
        step,
        checkpoint_id AS remark,
        ifNull(trigger, '') AS said
    FROM checkpoints
    WHERE run_id = {run_id:String}
        AND ({first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32})
)
ORDER BY at, kind, name, text
LIMIT {rows:UInt32}
