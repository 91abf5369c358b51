-- title: loops, three or more executed tool calls in a row of one agent with the same tool and arguments
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   agent_name Nullable(String): the agent that repeats itself
--   tool_name String: the tool
--   arguments_hash String: comparison hash of the arguments
--   arguments Nullable(String): JSON of the arguments, of the first call
--   repeats UInt64: how many calls in a row
--   first_step UInt32: step of the first
--   last_step UInt32: step of the last
--   same_result Bool: true if every call is known to have returned the same
--   started_at Nullable(DateTime64(9, 'UTC')): start of the first
-- example: SELECT run_id, tool_name, arguments, repeats, first_step, last_step FROM loops ORDER BY repeats DESC LIMIT 20
SELECT DISTINCT -- once each, should two collectors have filled the table at the same time
    l.tenant AS tenant,
    l.run_id AS run_id,
    l.agent_name AS agent_name,
    l.tool_name AS tool_name,
    l.arguments_hash AS arguments_hash,
    l.arguments AS arguments,
    l.repeats AS repeats,
    l.first_step AS first_step,
    l.last_step AS last_step,
    l.same_result AS same_result,
    l.started_at AS started_at
FROM canon_loops AS l
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
