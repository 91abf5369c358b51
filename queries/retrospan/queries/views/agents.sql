-- title: agents, one row per agent of a run and the agent above it: who called whom, and what each did itself
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   agent_name String: the agent; what no named agent did is in no row
--   parent_agent_name Nullable(String): the agent that called it or handed it the task; NULL if none is known
--   asked_by Nullable(UInt32): ordinal of the model call of the parent that asked for it first
--   first_step Nullable(UInt32): its first step; NULL if it took none itself
--   last_step Nullable(UInt32): its last step
--   model_calls UInt64: requests to models that it made itself
--   tool_calls UInt64: tool calls that it made itself, including those never executed
--   failures UInt64: failures that were its own
--   input_tokens Nullable(UInt64): tokens sent by its own model calls, cached ones included; NULL if not known
--   output_tokens Nullable(UInt64): tokens answered in its own model calls; NULL if not known
--   cost Nullable(Decimal(38, 12)): what its own model calls cost; NULL if not known
--   currency LowCardinality(Nullable(String)): currency of that cost
--   cost_unknown LowCardinality(Nullable(String)): why the cost is not known; NULL if it is
-- example: SELECT agent_name, parent_agent_name, first_step, last_step, input_tokens FROM agents WHERE run_id = {run_id:String} ORDER BY first_step
SELECT
    a.tenant AS tenant,
    a.run_id AS run_id,
    a.agent_name AS agent_name,
    a.parent_agent_name AS parent_agent_name,
    a.asked_by AS asked_by,
    a.first_step AS first_step,
    a.last_step AS last_step,
    a.model_calls AS model_calls,
    a.tool_calls AS tool_calls,
    a.failures AS failures,
    a.input_tokens AS input_tokens,
    a.output_tokens AS output_tokens,
    a.cost AS cost,
    a.currency AS currency,
    a.cost_unknown AS cost_unknown
FROM canon_agents AS a
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
