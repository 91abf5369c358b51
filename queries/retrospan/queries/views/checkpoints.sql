-- title: checkpoints, the points that a run can be resumed from
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run that made it
--   step Nullable(UInt32): step in or after which it was made; NULL if no step had begun
--   span_id String: span that states it
--   checkpoint_id String: name of the checkpoint
--   parent_id Nullable(String): name of the previous checkpoint, which may belong to another run
--   trigger LowCardinality(Nullable(String)): why it was made
--   at DateTime64(9, 'UTC'): when, by the producer's clock
--   conversation_id Nullable(String): conversation of the run: the thread that the checkpoints belong to
--   trace_id String: trace of the span
-- example: SELECT checkpoint_id, parent_id, step, trigger FROM checkpoints WHERE run_id = {run_id:String} ORDER BY at
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    c.step AS step,
    c.span_id AS span_id,
    c.checkpoint_id AS checkpoint_id,
    c.parent_id AS parent_id,
    c.trigger AS trigger,
    c.at AS at,
    p.conversation_id AS conversation_id,
    c.trace_id AS trace_id
FROM canon_checkpoints AS c
INNER JOIN
(
    SELECT tenant, run_id, generation, conversation_id
    FROM canon_runs FINAL
    WHERE NOT deleted
) AS p ON p.tenant = c.tenant AND p.run_id = c.run_id AND p.generation = c.generation
