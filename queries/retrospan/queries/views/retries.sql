-- title: retries, one row per attempt at anything that a run tried more than once, the first included
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   step UInt32: step of the attempt
--   tool_name Nullable(String): the tool; NULL for a model request or for the agent's own step
--   attempt UInt32: which attempt it is, from 1
--   of_step Nullable(UInt32): step of the first attempt, the same for all of them; NULL if not recorded
--   backoff_ms Nullable(UInt64): milliseconds waited before this attempt, if the program states it
--   error_type Nullable(String): class of the error of this attempt
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
