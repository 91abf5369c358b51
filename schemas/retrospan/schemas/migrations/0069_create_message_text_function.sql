-- title: a message in words: its text, the calls it asks for, the results it carries
-- params: message String, the JSON of a message as `canon_values` holds it
-- returns: String, its parts with blanks between them
CREATE FUNCTION IF NOT EXISTS retrospan_message_text AS (message) -> arrayStringConcat(
    arrayMap(
        part -> multiIf(
            JSONExtractString(part, 'type') = 'tool_call',
            concat(JSONExtractString(part, 'name'), '(', JSONExtractRaw(part, 'arguments'), ')'),
            JSONHas(part, 'response'),
            if(JSONType(part, 'response') = 'String', JSONExtractString(part, 'response'), JSONExtractRaw(part, 'response')),
            JSONHas(part, 'content'),
            if(JSONType(part, 'content') = 'String', JSONExtractString(part, 'content'), JSONExtractRaw(part, 'content')),
            part
        ),
        JSONExtractArrayRaw(message, 'parts')
    ),
    ' '
)
