-- title: What the checkpoints of a run hold, as the hooks recorded it
-- params: run_id String
-- returns: one row per record in the order of their times; content and redacted are JSON text, '' if there is none
SELECT
    at_ns,
    checkpoint_id,
    content,
    redacted
FROM
(
    SELECT
        toUnixTimestamp64Nano(l.at) AS at_ns,
        l.attributes['retrospan.checkpoint.id'] AS checkpoint_id,
        l.attributes['retrospan.checkpoint.content'] AS content,
        l.attributes['retrospan.redacted'] AS redacted
    FROM logs AS l
    WHERE l.run_id = {run_id:String} AND l.event_name = 'retrospan.checkpoint.content'
    UNION ALL
    SELECT
        toInt64(JSONExtractString(e, 'time_unix_nano')) AS at_ns,
        JSONExtractString(e, 'attributes', 'retrospan.checkpoint.id') AS checkpoint_id,
        JSONExtractString(e, 'attributes', 'retrospan.checkpoint.content') AS content,
        s.attributes['retrospan.redacted'] AS redacted
    FROM spans AS s
    ARRAY JOIN JSONExtractArrayRaw(s.events) AS e
    WHERE
        s.run_id = {run_id:String}
        AND position(s.events, '"retrospan.checkpoint.content"') > 0
        AND JSONExtractString(e, 'name') = 'retrospan.checkpoint.content'
)
ORDER BY at_ns, checkpoint_id
