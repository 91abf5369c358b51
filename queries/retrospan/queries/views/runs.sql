-- title: runs, one row each: what ran, when, how it ended, what it cost
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the row, 'default' without tokens
--   run_id String: the run
--   origin_run_id String: the first run over resumes and retries, possibly the run itself
--   parent_run_id Nullable(String): the run that was forked, replayed, retried or resumed
--   parent_link Nullable(String): how it descends from its parent: forks, replays, retries, resumes
--   conversation_id Nullable(String): key shared by the runs of one conversation
--   run_kind LowCardinality(String): production, test, eval, golden or demo
--   agent_name Nullable(String): the agent
--   agent_version Nullable(String): version of the agent
--   service_name Nullable(String): OTel service that sent the run
--   service_version Nullable(String): version of that service
--   environment Nullable(String): deployment environment
--   started_at DateTime64(9, 'UTC'): start by the producer's clock
--   ended_at Nullable(DateTime64(9, 'UTC')): end by the producer's clock
--   duration_ms Nullable(Float64): milliseconds from start to end
--   outcome LowCardinality(String): ok, error, incomplete, killed (not ended, and known to be dead), lost (not ended, and its process stopped saying that it is alive), or running (incomplete, alive or heard of in the last 5 minutes)
--   incomplete_because Nullable(String): no_root, missing_parent, not_ended, interrupted (all of them also of running runs), killed, not_interpreted
--   input Nullable(String): the user's text of this run
--   output Nullable(String): text of the final answer
--   steps UInt64: number of steps
--   model_calls UInt64: number of requests to models
--   tool_calls UInt64: number of tool calls, including those never executed
--   errors UInt64: failed steps, including handled ones
--   input_tokens Nullable(UInt64): tokens sent, cached ones included
--   output_tokens Nullable(UInt64): tokens answered
--   trace_ids Array(String): traces of the run
--   dialects Array(String): dialects of its instrumentation
--   flagged Bool: marked as worth keeping, by the agent or by `retrospan flag`, which takes precedence
--   held Bool: under a hold, set by `retrospan hold`, that forbids deletion
--   interpreted_by LowCardinality(String): version of the interpretation
--   problems UInt32: number of its rows in interpretation_problems
--   user_id Nullable(String): the user it worked for, as the instrumentation says
--   aliases Array(String): ids of further traces that were joined to it; commands take each for the run
--   joined_by Array(String): why each of these was: run_id (its spans name the run), link, or history (its prompt goes on from another's)
--   ended_by Nullable(String): how it is known that it was killed: spool (what its process left behind was found), resumed (another run goes on from it)
--   last_said_at DateTime64(9, 'UTC'): time of the newest event, start or end of a span, by the producer's clock
--   fork_step Nullable(UInt64): of a fork, the step of its parent that it went another way from
--   patch Nullable(String): of a fork, what it changed there, as JSON
--   cost Nullable(Decimal(38, 12)): what its model calls cost by the prices that were in force, each once; NULL if not known
--   currency LowCardinality(Nullable(String)): currency of that cost
--   cost_unknown LowCardinality(Nullable(String)): why the cost is not known; NULL if it is
-- example: SELECT run_id, agent_name, outcome, duration_ms FROM runs ORDER BY started_at DESC LIMIT 50
SELECT
    tenant,
    run_id,
    origin_run_id,
    parent_run_id,
    parent_link,
    conversation_id,
    run_kind,
    agent_name,
    agent_version,
    service_name,
    service_version,
    environment,
    started_at,
    ended_at,
    duration_ms,
    -- Said of late, and arrived of late: neither what is sent long after nor a clock that is ahead keeps a run running;
    -- nor does one that is more than a day ahead, were it the collector's own.
    CAST(
        multiIf(
            isNotNull(ended_by), 'killed',
            is_open AND (tenant, process_id) IN
            (
                SELECT tenant, processes.process_id
                FROM processes
                WHERE last_alive_at > now64(9, 'UTC')
                    - toIntervalMillisecond(3000 * if(interval_seconds > 0, least(interval_seconds, 86400), 30))
            ), 'running',
            is_open AND (tenant, process_id) IN
            (
                SELECT tenant, processes.process_id
                FROM processes
                WHERE last_alive_at > toDateTime64(0, 9, 'UTC')
                    AND (tenant, processes.process_id) IN (SELECT tenant, canon_runs.process_id FROM canon_runs WHERE is_open)
            ), 'lost',
            canon_runs.outcome = 'incomplete'
                AND ifNull(canon_runs.incomplete_because, '') != 'not_interpreted'
                AND least(greatest(newest_ended_at, canon_runs.last_said_at), canon_runs.arrived_at) > now() - INTERVAL 5 MINUTE
                AND greatest(newest_ended_at, canon_runs.last_said_at) < now() + INTERVAL 1 DAY, 'running',
            canon_runs.outcome
        ),
        'LowCardinality(String)'
    ) AS outcome,
    if(isNotNull(ended_by), 'killed', canon_runs.incomplete_because) AS incomplete_because,
    input,
    output,
    steps,
    model_calls,
    tool_calls,
    errors,
    input_tokens,
    output_tokens,
    trace_ids,
    CAST(canon_runs.dialects, 'Array(String)') AS dialects,
    CAST(
        if(
            arrayExists(
                id -> (tenant, id) IN (SELECT tenant, run_id FROM run_marks WHERE mark = 'flag'),
                arrayPushFront(canon_runs.aliases, run_id)
            ),
            arrayExists(
                id -> (tenant, id) IN
                (
                    SELECT tenant, run_id
                    FROM run_marks
                    WHERE mark = 'flag'
                    GROUP BY tenant, run_id
                    HAVING argMax(is_set, (at, sequence))
                ),
                arrayPushFront(canon_runs.aliases, run_id)
            ),
            canon_runs.flagged
        ),
        'Bool'
    ) AS flagged,
    CAST(
        arrayExists(
            id -> (tenant, id) IN
            (
                SELECT tenant, run_id
                FROM run_marks
                WHERE mark = 'hold'
                GROUP BY tenant, run_id
                HAVING argMax(is_set AND (isNull(until) OR until > now64(9, 'UTC')), (at, sequence))
            ),
            arrayPushFront(canon_runs.aliases, run_id)
        ),
        'Bool'
    ) AS held,
    interpreted_by,
    problems,
    user_id,
    aliases,
    CAST(joined_by, 'Array(String)') AS joined_by,
    CAST(
        multiIf(
            NOT is_open, NULL,
            (tenant, process_id) IN
            (
                SELECT tenant, processes.process_id
                FROM processes
                WHERE killed_at > toDateTime64(0, 9, 'UTC')
            ), 'spool',
            (canon_runs.tenant, canon_runs.run_id) IN
            (
                SELECT tenant, assumeNotNull(parent_run_id)
                FROM canon_runs FINAL
                WHERE (tenant, run_id) IN
                    (
                        SELECT tenant, run_id
                        FROM canon_runs
                        WHERE parent_link = 'resumes'
                            AND (tenant, parent_run_id) IN (SELECT tenant, run_id FROM canon_runs WHERE is_open)
                    )
                    AND parent_link = 'resumes'
                    AND NOT deleted
            ), 'resumed',
            NULL
        ),
        'Nullable(String)'
    ) AS ended_by,
    canon_runs.last_said_at AS last_said_at,
    fork_step,
    patch,
    cost,
    currency,
    cost_unknown
FROM canon_runs FINAL
WHERE NOT deleted
