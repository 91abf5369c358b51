"""The canonical rows of one interpreted run: each class mirrors one `canon_*` table, column for column.

A test compares fields and order with the tables. Every row names its run and the run's `generation`; the
row of `canon_runs` is written last and is the pointer: views show only the rows of its generation. What is known of
traces is in `retrospan.schemas.traces`, what agents state themselves about entities, effects and decisions in
`retrospan.schemas.stated`, what model calls cost in `retrospan.schemas.costs`.

Unknown is None (NULL), never 0 or ''. Times are Unix nanoseconds here and DateTime64(9, 'UTC') in the table.
Numbers that point into `canon_values` count from 1 within the run; 0 means there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class ValueRow:
    """A JSON value of a run, stored once: a message, another value, or a list of earlier values."""

    tenant: str
    run_id: str
    generation: int
    number: int
    kind: str  # message | json | list
    hash: str
    role: str  # of a message, else ''
    first_call: int  # ordinal of the model call that said the message first, else 0
    json: str  # '' for a list
    elements: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ModelCallRow:
    tenant: str
    run_id: str
    generation: int
    ordinal: int
    step: int
    trace_id: str
    span_id: str
    agent_name: str | None
    provider: str | None
    request_model: str | None
    response_model: str | None
    parameters: str  # JSON object
    system_value: int
    tools_value: int
    input_values: list[int]
    output_values: list[int]
    history: str  # full | rebuilt | inferred | none: how the input messages are known
    finish_reasons: list[str]
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    started_at: int
    duration_ms: float | None
    status: str  # ok | error
    error_type: str | None
    error_message: str | None
    call_hash: str
    input_hash: str
    output_hash: str
    system_hash: str
    tools_hash: str
    parameters_hash: str
    context_limit: int | None = None  # tokens
    goes_on: int = 0  # ordinal of the call before it in its context; 0: there is none
    messages_new: int | None = None  # since that call; None: not known
    messages_lost: int | None = None
    lost_hashes: list[str] = field(default_factory=list)
    lost_how: str | None = None  # dropped | summarised | truncated
    context_tokens: int | None = None  # of the window in use, as the program says
    cache_write_tokens: int | None = None
    token_buckets: str | None = None  # JSON object: counts that do not overlap
    time_to_first_chunk_ms: float | None = None
    prompt_name: str | None = None
    prompt_version: str | None = None
    cost: str | None = None  # decimal, by the prices that were in force
    currency: str | None = None
    cost_unknown: str | None = None  # why there is no cost
    price_list: str | None = None
    stated_cost: str | None = None  # decimal, as the instrumentation says
    stated_currency: str | None = None


@dataclass(slots=True, kw_only=True)
class ToolCallRow:
    tenant: str
    run_id: str
    generation: int
    ordinal: int
    step: int | None
    trace_id: str | None
    span_id: str | None
    asked_by: int | None
    agent_name: str | None
    tool_name: str
    tool_call_id: str | None
    arguments: str | None  # JSON
    result: str | None  # JSON or text
    result_source: str | None  # span | message
    arguments_hash: str | None
    result_hash: str | None
    effect: str | None
    idempotency_key: str | None
    attempt: int | None
    started_at: int | None
    duration_ms: float | None
    status: str  # ok | error | incomplete | not_executed | unknown
    error_type: str | None
    error_message: str | None


@dataclass(slots=True, kw_only=True)
class StepRow:
    tenant: str
    run_id: str
    generation: int
    step: int
    step_kind: str  # model | tool | retrieval | memory | step | node
    name: str
    trace_id: str
    span_id: str
    model_call: int  # ordinal, 0 when the step is none
    tool_call: int
    node: str | None
    framework_step: int | None
    task_step: int | None
    task_step_name: str | None
    task_steps_total: int | None
    agent_name: str | None
    started_at: int
    ended_at: int | None
    duration_ms: float | None
    status: str  # ok | error | incomplete | not_executed
    attempt: int | None
    state_source: str | None  # explicit | framework | messages
    before_keys: list[str]
    before_values: list[int]
    after_keys: list[str]
    after_values: list[int]
    state_before_hash: str | None  # None: the state is not known
    state_after_hash: str | None
    state_schema: str | None = None  # name@version
    query: str | None = None  # of a retrieval or a search in memory
    data_source: str | None = None
    cost: str | None = None  # decimal, of its model call
    currency: str | None = None


@dataclass(slots=True, kw_only=True)
class StateChangeRow:
    """A key whose value differs between the states in which two steps began (step = the later one).

    The state after the last step counts as the state in which step `steps + 1` began.
    """

    tenant: str
    run_id: str
    generation: int
    step: int
    key: str
    value: int  # 0: the key is gone
    changed_at_step: int  # the step that had ended last before; 0: there from the start
    span_id: str


@dataclass(slots=True, kw_only=True)
class EdgeRow:
    """A provenance edge. `used` edges of model calls are not stored: the view reads them from the calls."""

    tenant: str
    run_id: str
    generation: int
    subject: str
    relation: str
    object: str
    role: str | None
    evidence: str  # stated | matched | inferred
    step: int | None
    at: int
    place: str | None = None  # where in the object


@dataclass(slots=True, kw_only=True)
class CrossingRow:
    """A thing by which the provenance of a run is tied to that of others."""

    tenant: str
    run_id: str
    generation: int
    reference: str
    side: str  # subject: it came from this run; object: this run took it


@dataclass(slots=True, kw_only=True)
class ProblemRow:
    tenant: str
    run_id: str
    generation: int
    span_id: str | None
    field: str
    raw: str
    reason: str


@dataclass(slots=True, kw_only=True)
class FailureRow:
    """One error of a run, at the place where it began."""

    tenant: str
    run_id: str
    generation: int
    step: int | None  # None: it failed outside of any step
    trace_id: str
    span_id: str
    origin: str  # reasoning | tool_invocation | tool_response | interpretation
    error_class: str | None  # transient | systematic | architectural
    error_type: str | None
    error_message: str | None
    handled: bool
    at: int


@dataclass(slots=True, kw_only=True)
class AttemptRow:
    """One of several tries of the same thing."""

    tenant: str
    run_id: str
    generation: int
    step: int
    tool_name: str | None  # None: a request to a model, or a step of the agent's own
    attempt: int
    of_step: int | None  # the first try; None: it is not on record
    backoff_ms: int | None
    error_type: str | None
    status: str  # ok | error | incomplete | not_executed


@dataclass(slots=True, kw_only=True)
class AgentRow:
    """What one agent did under one parent, without what the agents under it did."""

    tenant: str
    run_id: str
    generation: int
    agent_name: str
    parent_agent_name: str | None
    asked_by: int | None  # ordinal of the model call that asked for it
    first_step: int | None
    last_step: int | None
    model_calls: int
    tool_calls: int
    failures: int
    input_tokens: int | None
    output_tokens: int | None
    cost: str | None = None  # decimal, of its own model calls
    currency: str | None = None
    cost_unknown: str | None = None


@dataclass(slots=True, kw_only=True)
class LoopRow:
    """Three or more executed tool calls in a row of one agent with the same tool and arguments."""

    tenant: str
    run_id: str
    generation: int
    agent_name: str | None
    tool_name: str
    arguments_hash: str
    arguments: str | None  # of the first call
    repeats: int
    first_step: int
    last_step: int
    same_result: bool  # every call is known to have returned the same
    started_at: int | None


@dataclass(slots=True, kw_only=True)
class HabitRow:
    """What a run is compared with others by. A run without tool calls has none."""

    tenant: str
    run_id: str
    generation: int
    tools: list[str]  # of its tool calls, by ordinal


@dataclass(slots=True, kw_only=True)
class RunRow:
    """One run. Written after all its other rows: the pointer to the generation that readers see."""

    tenant: str
    run_id: str
    generation: int
    deleted: bool
    origin_run_id: str
    parent_run_id: str | None
    parent_link: str | None
    conversation_id: str | None
    run_kind: str
    agent_name: str | None
    agent_version: str | None
    service_name: str | None
    service_version: str | None
    environment: str | None
    started_at: int
    ended_at: int | None
    duration_ms: float | None
    outcome: str  # ok | error | incomplete
    incomplete_because: str | None
    input: str | None
    output: str | None
    input_hash: str | None
    answer_ref: str | None  # reference of the answer's message
    steps: int
    model_calls: int
    tool_calls: int
    errors: int
    input_tokens: int | None
    output_tokens: int | None
    trace_ids: list[str]
    dialects: list[str]
    flagged: bool
    newest_ended_at: int
    arrived_at: int
    through_sequence: int
    final_history: list[int]
    final_history_hash: str
    #: The run whose final history was a second input; '' when there is none, None when the API keeps no history.
    history_run_id: str | None
    interpreted_by: str
    problems: int
    user_id: str | None = None
    aliases: list[str] = field(
        default_factory=list
    )  # other traces of the run, whose ids stand for it as well
    joined_by: list[str] = field(
        default_factory=list
    )  # run_id | link | history: why each of those belongs to it
    process_id: str = (
        ""  # of its spans that have begun and not ended; '' where there is none, or none says it
    )
    is_open: bool = False  # its root has begun and not ended
    last_said_at: int = 0  # time of the newest that any of it said
    fork_step: int | None = None  # the step of its parent that it went another way from
    patch: str | None = None  # JSON: what it changed there
    cost: str | None = None  # decimal, each model call once
    currency: str | None = None
    cost_unknown: str | None = None  # why there is no cost
