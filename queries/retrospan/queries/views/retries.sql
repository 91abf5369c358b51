-- title: retries, one row per try of what a run tried more than once, the first try included
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   step UInt32: step of the try
--   tool_name Nullable(String): the tool; NULL for a request to a model and for a step of the agent's own
--   attempt UInt32: which try it is, from 1
--   of_step Nullable(UInt32): step of the first try, the same for all of them; NULL when it is not on record
--   backoff_ms Nullable(UInt64): milliseconds waited before this try, where the program says it
--   error_type Nullable(String): class of the error of this try
--   status LowCardinality(String): ok, error or incomplete
-- example: SELECT of_step, attempt, step, tool_name, status FROM retries WHERE run_id = {run_id:String} ORDER BY of_step, attempt
SELECT
    a.tenant AS tenant,
    a.run_id AS run_id,
    a.step AS step,
    a.tool_name AS tool_name,
    a.attempt AS attempt,
    a.of_step AS of_step,
    a.backoff_ms AS backoff_ms,
    a.error_type AS error_type,
    a.status AS status
FROM canon_attempts AS a
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
