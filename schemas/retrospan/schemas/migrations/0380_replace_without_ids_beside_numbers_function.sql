-- title: a text without the ids that another run would have otherwise: UUIDs, long hexadecimal numbers, ids of calls and answers
-- params: text String
-- returns: String, a number sign in place of each id; a text of over 100,000 bytes is left as it is
-- Digits alone are an amount, an account or a card, and stay: while ids are looked for, letters that no number has stand
-- behind them. Whatever it looks like, the id is one of a call where it stands in a call of a function as OpenAI writes it, in
-- JSON, in JSON inside of a text, or as Python shows it: {'id': '…', 'type': 'function', … }.
CREATE OR REPLACE FUNCTION retrospan_without_ids AS (text) -> if(
    length(text) > 100000,
    text,
    replaceRegexpAll(
        replaceRegexpAll(
            replaceRegexpAll(text, '\\b([0-9]{16,64})\\b', '\\1zqz'),
            '\\b(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16,64}|(?:call|toolu|tooluse|srvtoolu|chatcmpl|msg|resp|fc|rs|req|run|gen)[_-][0-9A-Za-z]{16,64})\\b|["'']id\\\\*["'']: ?\\\\*["''][^"''\\\\]{1,100}\\\\*["''], ?\\\\*["'']type\\\\*["'']: ?\\\\*["'']function\\\\*["'']',
            '#'
        ),
        '\\b([0-9]{16,64})zqz\\b',
        '\\1'
    )
)
