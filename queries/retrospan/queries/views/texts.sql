-- title: texts, one row per message, argument, result and error of a run, where it was first said
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row
--   run_id String: the run
--   kind LowCardinality(String): message, arguments, result or error
--   text String: JSON of a message in the parts format, of arguments or of a result; the message of an error
--   role LowCardinality(Nullable(String)): who said a message: system, user, assistant or tool; NULL for the others
--   agent_name Nullable(String): agent of the step
--   tool_name Nullable(String): tool of arguments, of a result, or of an error; NULL for what a model said or was told
--   step Nullable(UInt32): step in which it was first said; NULL for a tool call that never ran
--   model_call Nullable(UInt32): ordinal of the model call of a message or error; NULL for those of tools
--   tool_call Nullable(UInt32): ordinal of the tool call; NULL for what is not of a tool
--   at Nullable(DateTime64(9, 'UTC')): when that call began
-- note: what a run was asked is a message also where no prompt tells it: of no call and no step then.
-- note: a message that is repeated in later prompts of its run is one row. The SQL port finds the runs of a condition text LIKE '…' by an index.
-- example: SELECT run_id, step, kind, role, tool_name, text FROM texts WHERE text LIKE '%no stock%' ORDER BY at DESC LIMIT 20
SELECT
    t.tenant AS tenant,
    t.run_id AS run_id,
    t.kind AS kind,
    t.text AS text,
    t.role AS role,
    t.agent_name AS agent_name,
    t.tool_name AS tool_name,
    t.step AS step,
    t.model_call AS model_call,
    t.tool_call AS tool_call,
    t.at AS at
FROM
(
    SELECT
        v.tenant AS tenant,
        v.run_id AS run_id,
        v.generation AS generation,
        CAST('message', 'LowCardinality(String)') AS kind,
        v.json AS text,
        CAST(v.role, 'LowCardinality(Nullable(String))') AS role,
        c.agent_name AS agent_name,
        CAST(NULL, 'Nullable(String)') AS tool_name,
        nullIf(c.step, 0) AS step,
        nullIf(v.first_call, 0) AS model_call,
        CAST(NULL, 'Nullable(UInt32)') AS tool_call,
        if(c.ordinal = 0, NULL, c.started_at) AS at
    FROM canon_values AS v
    LEFT JOIN
    (
        SELECT tenant, run_id, generation, ordinal, agent_name, step, started_at
        FROM canon_model_calls
    ) AS c ON c.tenant = v.tenant AND c.run_id = v.run_id AND c.generation = v.generation AND c.ordinal = v.first_call
    WHERE v.kind = 'message'
    UNION ALL
    SELECT
        tenant,
        run_id,
        generation,
        CAST(said.1, 'LowCardinality(String)') AS kind,
        assumeNotNull(said.2) AS text,
        CAST(NULL, 'LowCardinality(Nullable(String))') AS role,
        agent_name,
        CAST(tool_name, 'Nullable(String)') AS tool_name,
        step,
        CAST(NULL, 'Nullable(UInt32)') AS model_call,
        CAST(ordinal, 'Nullable(UInt32)') AS tool_call,
        started_at AS at
    FROM canon_tool_calls
    ARRAY JOIN [('arguments', arguments), ('result', result), ('error', error_message)] AS said
    WHERE isNotNull(said.2)
    UNION ALL
    SELECT
        tenant,
        run_id,
        generation,
        CAST('error', 'LowCardinality(String)') AS kind,
        assumeNotNull(error_message) AS text,
        CAST(NULL, 'LowCardinality(Nullable(String))') AS role,
        agent_name,
        CAST(NULL, 'Nullable(String)') AS tool_name,
        nullIf(step, 0) AS step,
        CAST(ordinal, 'Nullable(UInt32)') AS model_call,
        CAST(NULL, 'Nullable(UInt32)') AS tool_call,
        CAST(started_at, 'Nullable(DateTime64(9, \'UTC\'))') AS at
    FROM canon_model_calls
    WHERE isNotNull(error_message)
) AS t
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
SETTINGS join_use_nulls = 0
