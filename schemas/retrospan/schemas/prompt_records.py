"""What agents that send log records in place of spans call what they did, and where they say it.

Command-line agents do: one record for each prompt, request to a model and execution of a tool. A record is named after the
agent and the act, as in `claude_code.api_request` or `codex.tool_result`. The name stands where the producer put it: in the
record's event name, in its attribute `event.name`, with or without the agent's, or in its body.
"""

from __future__ import annotations

from retrospan.schemas import semconv

#: The acts. A prompt was given.
PROMPT = "user_prompt"
#: A model was asked. It answered, or did not: of some agents the first says this too.
REQUEST = "api_request"
ENDS = ("api_response", "api_error")
#: A piece of an answer came, the last of which says what the answer took.
PIECE = "sse_event"
#: What the answer said.
ANSWER = "assistant_response"
#: The execution of a tool was allowed or not. It is over.
DECISION = "tool_decision"
EXECUTIONS = ("tool_result", "tool_call")
#: What was sent to a model's API, and what came back, whole: read where it lies on the span around the request.
BODIES = ("api_request_body", "api_response_body")
ACTS = frozenset((PROMPT, REQUEST, *ENDS, PIECE, ANSWER, DECISION, *EXECUTIONS, *BODIES))

#: Attributes, by what they say; the first that a record has counts. What a record is about:
SESSIONS = (semconv.SESSION_ID, "conversation.id")
PROMPTS = ("prompt.id", "prompt_id")
REQUEST_IDS = ("request_id", "response_id")
BODY_IDS = ("request_body_id",)
CALL_IDS = ("tool_use_id", "call_id")
AGENT_IDS = ("agent_id",)
AGENTS = ("agent.name", "agent_name")
MODELS = ("model", "model_name")
TOOLS = ("tool_name", "function_name")
#: How it went:
DURATIONS_MS = ("duration_ms",)
SUCCESSES = ("success",)
ERRORS = ("error", "error.message", "error_message")
ERROR_TYPES = ("error_type", "error.type", "status_code", "http.response.status_code")
DECISIONS = ("decision",)
#: What was said:
QUESTIONS = ("prompt",)
ANSWERS = ("response", "response_text")
ARGUMENTS = ("tool_input", "function_args", "arguments", "tool_parameters")
RESULTS = ("tool_output", "output")
TEXTS = (*QUESTIONS, "prompt_text", *ANSWERS, *ARGUMENTS, *RESULTS, "request_text")
#: How many tokens it took, by the name of the conventions. Where those that were read from a cache and those that were
#: written into one are counted apart, the input is the rest.
TOKENS = {
    semconv.USAGE_INPUT_TOKENS: ("input_tokens", "input_token_count"),
    semconv.USAGE_OUTPUT_TOKENS: ("output_tokens", "output_token_count"),
    semconv.USAGE_CACHE_READ_INPUT_TOKENS: (
        "cache_read_tokens",
        "cached_token_count",
        "cached_content_token_count",
    ),
    semconv.USAGE_CACHE_WRITE_INPUT_TOKENS: ("cache_creation_tokens", "cache_write_token_count"),
    semconv.USAGE_REASONING_OUTPUT_TOKENS: ("reasoning_token_count", "thoughts_token_count"),
}
BESIDE_INPUT = ("cache_read_tokens", "cache_creation_tokens")
#: In which order the records of a millisecond were written.
SEQUENCES = ("event.sequence",)

#: All of these that hold no text of a person, a model or a tool.
NUMBERS_AND_NAMES = (
    semconv.EVENT_NAME,
    *(*SESSIONS, *PROMPTS, *REQUEST_IDS, *BODY_IDS, *CALL_IDS, *AGENT_IDS, *AGENTS, *MODELS, *TOOLS),
    *(*DURATIONS_MS, *SUCCESSES, *ERROR_TYPES, *DECISIONS, *SEQUENCES),
    *(name for names in TOKENS.values() for name in names),
)

#: Agents that are known: whatever else they record of a session is of it too, and goes when it goes.
AGENTS_KNOWN = ("claude_code", "codex", "gemini_cli", "qwen-code")
#: Those that send spans of each act in any case, in traces of their own: their records tell nothing more than once.
WITH_SPANS = ("gemini_cli.", "qwen-code.")

_LONGEST_NAME = 128


def is_of_agent(*names: str) -> bool:
    """Tell whether one of these names tells an act, or is of an agent that is known."""
    return bool(act_of(*names)) or any(name.partition(".")[0] in AGENTS_KNOWN for name in names)


def act_of(*names: str) -> str:
    """Return the act that the first of these names tells; '' where none does."""
    for name in names:
        if len(name) <= _LONGEST_NAME and (act := name.rpartition(".")[2]) in ACTS:
            return act
    return ""
