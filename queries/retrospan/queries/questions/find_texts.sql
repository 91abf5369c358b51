-- title: Texts that hold words: messages, arguments, results and errors, newest first
-- params: pattern String (what ILIKE finds, and more), words Array(String) (all must be there), escaped Array(String) (the same as JSON writes them), exact UInt8 (1: case matters), unsaid UInt8 (1: also texts that the pattern fits and that do not say it), since DateTime64(9, 'UTC'), run_id String, agent String, kind String, role String, tool String ('' = any), whole UInt8 (1: texts uncut), most UInt32 (rows)
-- returns: one row each, the columns of the view texts but text; `shown` is around the first word or all; is_said (0: may say it)
SELECT
    run_id,
    kind,
    role,
    agent_name,
    tool_name,
    step,
    model_call,
    tool_call,
    at,
    if(
        {whole:UInt8} = 1,
        text,
        substringUTF8(
            text,
            greatest(
                1,
                toInt64(
                    greatest(
                        positionCaseInsensitiveUTF8(text, {words:Array(String)}[1]),
                        positionCaseInsensitiveUTF8(text, {escaped:Array(String)}[1])
                    )
                ) - 60
            ),
            400
        )
    ) AS shown,
    lengthUTF8(text) AS characters,
    is_said
FROM texts
WHERE text ILIKE {pattern:String}
    -- A text that does not hold the words as it is written need not be opened.
    AND (
        arrayMin(multiSearchAllPositionsCaseInsensitiveUTF8(text, {words:Array(String)})) > 0
        OR arrayMin(multiSearchAllPositionsCaseInsensitiveUTF8(text, {escaped:Array(String)})) > 0
    )
    -- That they were said is decided on what the text means.
    AND (
        {unsaid:UInt8} = 1
        OR (
            if(
                {exact:UInt8} = 1,
                arrayMin(multiSearchAllPositions(
                    retrospan_said(kind, text, arrayStringConcat({words:Array(String)})) AS said,
                    {words:Array(String)}
                )) > 0,
                arrayMin(multiSearchAllPositionsCaseInsensitiveUTF8(said, {words:Array(String)})) > 0
            ) AS is_said
        )
    )
    -- What has no time is not known to be of then: it is there only if no time is asked for.
    AND ifNull(at >= {since:DateTime64(9, 'UTC')}, {since:DateTime64(9, 'UTC')} = toDateTime64(0, 9, 'UTC'))
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({agent:String} = '' OR agent_name = {agent:String})
    AND ({kind:String} = '' OR kind = {kind:String})
    AND ({role:String} = '' OR role = {role:String})
    AND ({tool:String} = '' OR tool_name = {tool:String})
ORDER BY
    at DESC,
    run_id,
    step,
    kind,
    text
LIMIT {most:UInt32}
