-- title: a reference, as retrospan.schemas.references writes it
-- params: kind String; id String, in which `%` and `/` are percent-encoded
-- returns: String, `kind:id`
CREATE FUNCTION IF NOT EXISTS retrospan_reference AS (kind, id) ->
    concat(kind, ':', replaceAll(replaceAll(id, '%', '%25'), '/', '%2F'))
