-- title: steps, one row per leaf act of a run, with the state around it if known
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   step UInt32: number in the run, from 1
--   step_kind LowCardinality(String): model, tool, retrieval, memory, step or node
--   name String: the tool, model or node that acted
--   span_id String: span of the step
--   node Nullable(String): framework node around it
--   framework_step Nullable(Int64): the framework's own step number
--   task_step Nullable(Int64): step of the task as the agent's code counts
--   task_step_name Nullable(String): its name
--   task_steps_total Nullable(Int64): how many there are
--   agent_name Nullable(String): agent that acted
--   started_at DateTime64(9, 'UTC'): start by the producer's clock
--   duration_ms Nullable(Float64): milliseconds it took
--   status LowCardinality(String): ok, error, incomplete or not_executed (of a tool that was refused)
--   attempt Nullable(UInt32): which attempt it was, from 1
--   state_source LowCardinality(Nullable(String)): source of the state: explicit, framework or messages
--   state_before Nullable(String): JSON object, the state when the step began; NULL if not known
--   state_after Nullable(String): JSON object, the state when it ended; NULL if not known
--   state_before_hash Nullable(String): comparison hash of state_before
--   state_after_hash Nullable(String): comparison hash of state_after
--   model_call Nullable(UInt32): ordinal of the model call that the step is
--   tool_call Nullable(UInt32): ordinal of the tool call that the step is
--   trace_id String: trace of the span
--   ended_at Nullable(DateTime64(9, 'UTC')): end by the producer's clock
--   state_schema Nullable(String): name and version of the state's schema, if the agent states it
--   query Nullable(String): what a retrieval or a search in memory looked for
--   data_source Nullable(String): id of the data source or memory store it looked in
--   cost Nullable(Decimal(38, 12)): what its model call cost; NULL if not known, or if it is none
--   currency LowCardinality(Nullable(String)): currency of that cost
-- example: SELECT step, step_kind, name, status, duration_ms FROM steps WHERE run_id = {run_id:String} ORDER BY step
SELECT
    s.tenant AS tenant,
    s.run_id AS run_id,
    s.step AS step,
    s.step_kind AS step_kind,
    s.name AS name,
    s.span_id AS span_id,
    s.node AS node,
    s.framework_step AS framework_step,
    s.task_step AS task_step,
    s.task_step_name AS task_step_name,
    s.task_steps_total AS task_steps_total,
    s.agent_name AS agent_name,
    s.started_at AS started_at,
    s.duration_ms AS duration_ms,
    s.status AS status,
    s.attempt AS attempt,
    s.state_source AS state_source,
    if(
        isNull(s.state_before_hash),
        NULL,
        concat(
            '{',
            arrayStringConcat(
                arrayMap(
                    (k, n) -> concat(
                        toJSONString(toString(k)),
                        ':',
                        if(
                            empty(v.elements[n]),
                            v.jsons[n],
                            concat('[', arrayStringConcat(arrayMap(e -> v.jsons[e], v.elements[n]), ','), ']')
                        )
                    ),
                    s.before_keys,
                    s.before_values
                ),
                ','
            ),
            '}'
        )
    ) AS state_before,
    if(
        isNull(s.state_after_hash),
        NULL,
        concat(
            '{',
            arrayStringConcat(
                arrayMap(
                    (k, n) -> concat(
                        toJSONString(toString(k)),
                        ':',
                        if(
                            empty(v.elements[n]),
                            v.jsons[n],
                            concat('[', arrayStringConcat(arrayMap(e -> v.jsons[e], v.elements[n]), ','), ']')
                        )
                    ),
                    s.after_keys,
                    s.after_values
                ),
                ','
            ),
            '}'
        )
    ) AS state_after,
    s.state_before_hash AS state_before_hash,
    s.state_after_hash AS state_after_hash,
    nullIf(s.model_call, 0) AS model_call,
    nullIf(s.tool_call, 0) AS tool_call,
    s.trace_id AS trace_id,
    s.ended_at AS ended_at,
    s.state_schema AS state_schema,
    s.query AS query,
    s.data_source AS data_source,
    s.cost AS cost,
    s.currency AS currency
FROM
(
    -- A run's values as two arrays, so that value n is element n. Queries that ask for no state read no JSON here.
    -- They stand on the left, for there the engine keeps one copy of them for all steps of the run, and on the right one each.
    SELECT
        tenant,
        run_id,
        generation,
        arraySort(
            x -> x.1,
            groupArray((number, if(kind = 'list' AND empty(canon_values.elements), '[]', json)))
        ).2 AS jsons,
        arraySort(x -> x.1, groupArray((number, canon_values.elements))).2 AS elements
    FROM canon_values
    GROUP BY tenant, run_id, generation
) AS v
RIGHT JOIN
(
    SELECT s.*
    FROM canon_steps AS s
    INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
        USING (tenant, run_id, generation)
) AS s ON v.tenant = s.tenant AND v.run_id = s.run_id AND v.generation = s.generation
SETTINGS join_use_nulls = 0, output_format_json_escape_forward_slashes = 0
