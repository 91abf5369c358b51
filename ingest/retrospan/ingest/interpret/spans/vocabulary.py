"""The names of attributes by what they hold. The general rules know those that OpenTelemetry publishes, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from retrospan.schemas import semconv
from retrospan.schemas.attributes import STEP_INDEX, STEP_NAME, STEP_TOTAL

#: The values of `gen_ai.operation.name`, the published and the custom ones, and the operation of a span that has it.
GENAI_OPERATIONS: Mapping[str, str] = {
    "chat": "inference",
    "generate_content": "inference",
    "text_completion": "inference",
    "completion": "inference",
    "generate": "inference",
    "llm_call": "inference",
    "llm_request": "inference",
    "embeddings": "embedding",
    "execute_tool": "tool",
    "tool_call": "tool",
    "invoke_agent": "agent",
    "create_agent": "other",  # makes one and runs nothing
    "agent_call": "agent",
    "invoke_workflow": "workflow",
    "agent_step": "step",
    "run_step": "step",
    "execute_event_loop_cycle": "step",
    "execute_task": "step",
    "retrieval": "retrieval",
    "vector_db_retrieve": "retrieval",
    "rerank": "rerank",
    "plan": "plan",
    "guardrail": "guardrail",
    "apply_guardrail": "guardrail",
    "fetch_response": "other",  # of a call that was made before
    "evaluate": "evaluation",
    "create_memory": "memory",
    "update_memory": "memory",
    "upsert_memory": "memory",
    "delete_memory": "memory",
    "search_memory": "memory",
    "create_memory_store": "memory",
    "delete_memory_store": "memory",
}

Names = tuple[str, ...]

#: Any attribute whose own name, after its family's, says that it holds what a span was given, or what it returned.
INPUT, OUTPUT = "*input", "*output"
#: A whole exchange with a model, under whatever names.
EXCHANGE = "*exchange"
#: A request, and a response, each known by its shape alone.
REQUEST, RESPONSE = "*request", "*response"
#: Any attribute whose words say that it counts the tokens of a request, or of an answer.
INPUT_TOKENS, OUTPUT_TOKENS = "*input tokens", "*output tokens"

#: Counts of the tokens of one modality, each part of a total, by the bucket that they are in.
MODAL_TOKENS: Mapping[str, str] = {
    semconv.USAGE_TEXT_INPUT_TOKENS: "input_text",
    semconv.USAGE_IMAGE_INPUT_TOKENS: "input_image",
    semconv.USAGE_AUDIO_INPUT_TOKENS: "input_audio",
    semconv.USAGE_TEXT_CACHE_READ_INPUT_TOKENS: "cache_read_text",
    semconv.USAGE_IMAGE_CACHE_READ_INPUT_TOKENS: "cache_read_image",
    semconv.USAGE_AUDIO_CACHE_READ_INPUT_TOKENS: "cache_read_audio",
    semconv.USAGE_TEXT_OUTPUT_TOKENS: "output_text",
    semconv.USAGE_IMAGE_OUTPUT_TOKENS: "output_image",
    semconv.USAGE_AUDIO_OUTPUT_TOKENS: "output_audio",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """For each field the attributes that may hold it, the most telling first. The defaults are OpenTelemetry's own.

    `INPUT`, `OUTPUT`, `EXCHANGE`, `REQUEST` and `RESPONSE` among them stand for any attribute of that shape.
    """

    # The kind of a span
    operations: tuple[tuple[str, Mapping[str, str]], ...] = ((semconv.OPERATION_NAME, GENAI_OPERATIONS),)
    functions: Names = ()  # of an SDK, by whose name the operation is known
    announcements: tuple[tuple[str, str], ...] = ()  # (name, value) of spans that come again, whole
    markers: tuple[tuple[str, str], ...] = (  # only spans of this operation have it
        (STEP_INDEX, "step"),
        (semconv.TOOL_NAME, "tool"),
        (semconv.TOOL_CALL_ID, "tool"),
        (semconv.REQUEST_MODEL, "inference"),
        (semconv.RESPONSE_ID, "inference"),
    )
    error_levels: tuple[tuple[str, str], ...] = ()  # (name, value) of what failed

    # Who, and in which conversation
    agents: Names = (semconv.AGENT_NAME,)
    agent_nodes: Names = ()
    conversations: Names = (semconv.CONVERSATION_ID, semconv.SESSION_ID)
    metadata: str = ""  # an object of keys of the framework's and the user's
    metadata_prefixes: Names = ()

    # A model call
    providers: Names = (semconv.PROVIDER_NAME, semconv.SYSTEM)
    request_models: Names = (semconv.REQUEST_MODEL,)
    response_models: Names = (semconv.RESPONSE_MODEL,)
    models: Names = ()  # asked for or answering: it is not said which
    plain_models: Names = ()  # as the program named it
    response_ids: Names = (semconv.RESPONSE_ID,)
    parameter_objects: str = ""
    parameter_prefixes: Names = ("gen_ai.request.",)
    requests: Names = (semconv.PROMPT, EXCHANGE, REQUEST, INPUT)
    responses: Names = (semconv.COMPLETION, EXCHANGE, RESPONSE, OUTPUT)
    prompts: Names = ()  # the messages of a request
    indexed_prompts: Names = (semconv.PROMPT,)
    indexed_answers: Names = (semconv.COMPLETION,)
    answer_texts: Names = ()
    answer_calls: str = ""
    definitions: Names = (semconv.TOOL_DEFINITIONS,)
    indexed_schemas: str = ""
    indexed_functions: str = ""
    finish_reasons: Names = (semconv.RESPONSE_FINISH_REASONS,)
    previous_responses: Names = ()  # the id of the response that the server's own history goes on from
    event_contents: str = ""  # the message of an event

    # Tokens
    usage: Names = ()
    input_tokens: Names = (semconv.USAGE_INPUT_TOKENS, semconv.USAGE_PROMPT_TOKENS, INPUT_TOKENS)
    output_tokens: Names = (semconv.USAGE_OUTPUT_TOKENS, semconv.USAGE_COMPLETION_TOKENS, OUTPUT_TOKENS)
    cached_tokens: Names = (semconv.USAGE_CACHE_READ_INPUT_TOKENS,)
    written_tokens: Names = (
        semconv.USAGE_CACHE_WRITE_INPUT_TOKENS,
        semconv.USAGE_CACHE_CREATION_INPUT_TOKENS,
    )
    reasoning_tokens: Names = (semconv.USAGE_REASONING_OUTPUT_TOKENS,)
    modal_tokens: Mapping[str, str] = field(default_factory=lambda: MODAL_TOKENS)  # to the bucket of each
    total_tokens: Names = ()
    uncached_tokens: str = ""  # a count of input without the cached ones
    tokens_apart: Names = ()  # those

    first_chunk: Names = (semconv.RESPONSE_TIME_TO_FIRST_CHUNK,)  # seconds
    first_chunk_ms: Names = ()

    # A tool
    tools: Names = (semconv.TOOL_NAME,)
    call_ids: Names = (semconv.TOOL_CALL_ID,)
    arguments: Names = (semconv.TOOL_CALL_ARGUMENTS, semconv.PROMPT, INPUT, semconv.INPUT_MESSAGES)
    results: Names = (semconv.TOOL_CALL_RESULT, semconv.COMPLETION, OUTPUT, semconv.OUTPUT_MESSAGES)

    # Anything else
    given_and_returned: tuple[tuple[str, str], ...] = (
        (semconv.PROMPT, semconv.COMPLETION),
        (REQUEST, RESPONSE),
        (INPUT, OUTPUT),
    )
    asked: Names = ()  # what an agent was asked, where it is not what it was given
    indexed_documents: Names = ()
    documents: Names = (semconv.RETRIEVAL_DOCUMENTS, semconv.COMPLETION)
    queries: Names = (semconv.RETRIEVAL_QUERY_TEXT, semconv.MEMORY_QUERY_TEXT)
    data_sources: Names = (semconv.DATA_SOURCE_ID, semconv.MEMORY_STORE_ID)
    users: Names = (semconv.USER_ID, semconv.ENDUSER_ID)
    judges: Names = ()  # who evaluated: no convention has a name for it yet
    compaction_tokens: Names = ()  # before a shortening of the context that has a span of its own, and after it
    texts: frozenset[str] = frozenset(  # whose values are texts
        (
            STEP_NAME,
            semconv.OPERATION_NAME,
            semconv.PROVIDER_NAME,
            semconv.SYSTEM,
            semconv.REQUEST_MODEL,
            semconv.RESPONSE_MODEL,
            semconv.RESPONSE_ID,
            semconv.CONVERSATION_ID,
            semconv.AGENT_NAME,
            semconv.AGENT_VERSION,
            semconv.TOOL_NAME,
            semconv.TOOL_CALL_ID,
            semconv.ERROR_TYPE,
            semconv.SESSION_ID,
        )
    )
    telling: frozenset[str] = field(init=False)  # names that tell the kind of a span
    counts: frozenset[str] = frozenset(  # whose values are counts
        (
            STEP_INDEX,
            STEP_TOTAL,
            semconv.USAGE_INPUT_TOKENS,
            semconv.USAGE_OUTPUT_TOKENS,
            semconv.USAGE_PROMPT_TOKENS,
            semconv.USAGE_COMPLETION_TOKENS,
            semconv.USAGE_CACHE_READ_INPUT_TOKENS,
            semconv.USAGE_CACHE_WRITE_INPUT_TOKENS,
            semconv.USAGE_CACHE_CREATION_INPUT_TOKENS,
            semconv.USAGE_REASONING_OUTPUT_TOKENS,
        )
    )

    def __post_init__(self) -> None:
        pairs = (*self.announcements, *self.operations, *self.markers)
        object.__setattr__(self, "telling", frozenset((*(pair[0] for pair in pairs), *self.functions)))


#: Only what OpenTelemetry publishes.
OPENTELEMETRY = Vocabulary()
