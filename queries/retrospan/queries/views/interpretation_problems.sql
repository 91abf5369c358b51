-- title: interpretation problems, what could not be read as meant, or contradicts what was read
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   span_id Nullable(String): span concerned; NULL if it is the whole run
--   field String: what was to be read, or is in doubt
--   raw String: the value as sent, what speaks against the reading, or the traceback of a run that could not be interpreted
--   reason String: what is wrong with it
-- example: SELECT reason, count() AS times FROM interpretation_problems GROUP BY reason ORDER BY times DESC
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    c.span_id AS span_id,
    c.field AS field,
    c.raw AS raw,
    c.reason AS reason
FROM canon_problems AS c
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
