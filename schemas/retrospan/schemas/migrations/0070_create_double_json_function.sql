-- title: a double as JSON has it
-- params: text String, a double as the raw tables hold it
-- returns: String; NaN and the infinities in words and without quotes, a whole number with a point
CREATE FUNCTION IF NOT EXISTS retrospan_double_json AS (text) -> multiIf(
    text = 'nan', 'NaN',
    text = 'inf', 'Infinity',
    text = '-inf', '-Infinity',
    match(text, '^-?[0-9]+$'), concat(text, '.0'),
    text
)
