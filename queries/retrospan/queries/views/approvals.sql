-- title: approvals, what a person decided about an act of an agent
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   step Nullable(UInt32): step that was decided about; NULL if outside any step
--   span_id String: span that states it
--   decision LowCardinality(String): such as approve, modify, reject, escalate, terminate
--   approver Nullable(String): who decided
--   explanation Nullable(String): why
--   at DateTime64(9, 'UTC'): when, by the producer's clock
--   agent_name Nullable(String): agent of the step
--   tool_name Nullable(String): the tool, when the step is a call of one
--   trace_id String: trace of the span
-- example: SELECT run_id, step, tool_name, decision, approver FROM approvals WHERE decision != 'approve' ORDER BY at DESC
SELECT
    a.tenant AS tenant,
    a.run_id AS run_id,
    a.step AS step,
    a.span_id AS span_id,
    CAST(a.decision, 'LowCardinality(String)') AS decision,
    a.approver AS approver,
    a.explanation AS explanation,
    a.at AS at,
    s.agent_name AS agent_name,
    if(s.step_kind = 'tool', toNullable(s.name), NULL) AS tool_name,
    a.trace_id AS trace_id
FROM canon_approvals AS a
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
LEFT JOIN canon_steps AS s
    ON s.tenant = a.tenant AND s.run_id = a.run_id AND s.generation = a.generation AND s.step = ifNull(a.step, 0)
SETTINGS join_use_nulls = 0
