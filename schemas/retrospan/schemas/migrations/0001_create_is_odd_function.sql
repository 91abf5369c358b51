-- title: whether an element of an array or kvlist needs tagged JSON
-- params: kind and real of an element as in `landing`
-- returns: 1 for bytes, nested values, and doubles that JSON has no number for
CREATE FUNCTION IF NOT EXISTS retrospan_is_odd AS (kind, real) ->
    kind IN ('array', 'kvlist', 'octets') OR (kind = 'real' AND NOT isFinite(real))
