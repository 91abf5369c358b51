-- title: The observations of a run
-- params: run_id String, first UInt32, last UInt32 (steps, both included; first 0: also what is said on no step), rows UInt32 (the greatest number)
-- returns: one row each, the columns of the view observations
SELECT
    entity_type,
    entity_id,
    field,
    op,
    value,
    valid_from,
    known_from,
    run_id,
    step,
    span_id,
    agent_name,
    source,
    confidence,
    priority,
    correction,
    reason,
    observation_id,
    said_at,
    trace_id,
    value_hash
FROM observations
WHERE run_id = {run_id:String}
    AND ({first:UInt32} = 0 OR step BETWEEN {first:UInt32} AND {last:UInt32})
ORDER BY valid_from, observation_id, field
LIMIT {rows:UInt32}
