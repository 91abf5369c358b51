"""The spans of an agent that sends none: made of the log records in which it tells what it did with a prompt.

Each request to a model and each execution of a tool becomes a span below one of the agent, in the words of the GenAI
conventions, with whatever else its record says; from there on it is read as any. What no record tells stays unknown: what a
model was given, and each text that was not to be sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.spans.sent_as_logs import OwnRecord
from retrospan.ingest.interpret.spans.span import CLIENT, HAS_IS_REMOTE, IS_REMOTE, Span
from retrospan.ingest.interpret.spans.told_acts import (
    Acts,
    Request,
    agent_id_of,
    identity_of,
    is_over,
    last_request,
    names_of,
    order_of,
    text_of,
)
from retrospan.ingest.interpret.spans.told_words import (
    duration_ns,
    error_type_in,
    has_failed,
    text_in,
    tokens_in,
)
from retrospan.ingest.json_text import write_json
from retrospan.schemas import prompt_records as words
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

_INTERNAL = 1


def spans_of_acts(trace_id: str, ordered: Sequence[OwnRecord], acts: Acts) -> list[Span]:
    """Return the spans that the log records of one prompt alone tell, the agent's first, below the span that they name; none
    where they tell no act, or not of which prompt. `acts` is what is read of these records, which are in order.

    The agent's is open until something shows that the prompt was dealt with: the last act told is a request that failed, or
    an answer that asks for no tool.
    """
    if not acts.prompts or not (acts.requests or acts.executions) or _has_spans(acts):
        return []
    root = _agent(trace_id, ordered[0], acts)
    spans = [root, *_agents_below(root, acts)]
    parents = {text_in(span.attributes, words.AGENT_IDS) or "": span.span_id for span in spans}
    spans += [_model_span(root, parents, request) for request in acts.requests]
    spans += [_tool_span(root, parents, call_id, record) for call_id, record in acts.executions.items()]
    root.started_at = min(span.started_at for span in spans)
    root.logs = [record.log for record in ordered]
    for span in spans[1:]:
        span.ended_at = max(span.ended_at, span.started_at)
    if is_over(acts):
        root.ended_at = max(span.ended_at for span in spans[1:])
    else:
        root.is_open = True
    return spans


def _has_spans(acts: Acts) -> bool:
    """Tell whether the agent tells by spans of its own what these records tell."""
    return any(name.startswith(words.WITH_SPANS) for prompt in acts.prompts for name in names_of(prompt))


def _agent(trace_id: str, first: OwnRecord, acts: Acts) -> Span:
    """Return the span of the agent itself. Its times are those of what it did."""
    prompt = acts.prompts[-1]
    said: dict[str, object] = {semconv.OPERATION_NAME: "invoke_agent", **words_told(acts)}
    name = first.resource.get(semconv.SERVICE_NAME)
    if isinstance(name, str) and name:
        said[semconv.AGENT_NAME] = name
    identity = text_of(prompt, words.PROMPTS)
    root = _span(
        trace_id,
        prompt,
        identity,
        f"invoke_agent {said.get(semconv.AGENT_NAME, '')}".rstrip(),
        _INTERNAL,
        said,
        first.span_id,
    )
    # The span that was current when the agent was started is of another process.
    root.flags = HAS_IS_REMOTE | IS_REMOTE if first.span_id else 0
    return root


def _agents_below(root: Span, acts: Acts) -> list[Span]:
    """Return a span for each agent that the first one started, from its first act to its last."""
    found: dict[str, Span] = {}
    records = [*(request.record for request in acts.requests), *acts.executions.values()]
    for record in sorted(records, key=order_of):
        if not (agent_id := agent_id_of(record)):
            continue
        if agent_id not in found:
            said = {semconv.OPERATION_NAME: "invoke_agent", semconv.AGENT_ID: agent_id, "agent_id": agent_id}
            found[agent_id] = _span(
                root.trace_id, record, agent_id, "invoke_agent", _INTERNAL, said, root.span_id
            )
            # Of the record only its place in time is the agent's.
            found[agent_id].attributes, found[agent_id].status = said, "unset"
            found[agent_id].status_message = ""
        span = found[agent_id]
        span.started_at = min(span.started_at, record.log.time_ns - duration_ns(record.log.attributes))
        span.ended_at = max(span.ended_at, record.log.time_ns)
        if (name := text_of(record, words.AGENTS)) and span.name == "invoke_agent":
            span.name = f"invoke_agent {name}"
            span.attributes = {**span.attributes, semconv.AGENT_NAME: name}
    return [*found.values()]


def _model_span(root: Span, parents: Mapping[str, str], request: Request) -> Span:
    said: dict[str, object] = {semconv.OPERATION_NAME: "chat", **tokens_in(request.record.log.attributes)}
    model = text_of(request.record, words.MODELS)
    if model:
        said[semconv.REQUEST_MODEL] = model
    said |= answer_told(request)
    span = _span(
        root.trace_id,
        request.record,
        identity_of(request.record),
        f"chat {model}".rstrip(),
        CLIENT,
        said,
        parents.get(agent_id_of(request.record), root.span_id),
    )
    span.started_at = request.started_at
    return span


def _tool_span(root: Span, parents: Mapping[str, str], call_id: str, record: OwnRecord) -> Span:
    said = {semconv.OPERATION_NAME: "execute_tool", **execution_told(call_id, record)}
    name = f"execute_tool {text_of(record, words.TOOLS)}".rstrip()
    return _span(
        root.trace_id, record, call_id, name, _INTERNAL, said, parents.get(agent_id_of(record), root.span_id)
    )


def _span(
    trace_id: str,
    record: OwnRecord,
    identity: str,
    name: str,
    kind: int,
    said: Mapping[str, object],
    parent_span_id: str,
) -> Span:
    """Return a span that a record tells, from when its act began to when the record was written."""
    heard = record.log.attributes
    failed = has_failed(heard)
    attributes = {key: value for key, value in heard.items() if key not in words.TEXTS}
    if failed and (error_type := error_type_in(heard)) is not None:
        attributes[semconv.ERROR_TYPE] = error_type
    return Span(
        trace_id=trace_id,
        span_id=hash_of([trace_id, identity])[:16],
        parent_span_id=parent_span_id,
        name=name,
        kind=kind,
        flags=0,
        started_at=record.log.time_ns - duration_ns(heard),
        ended_at=record.log.time_ns,
        status="error" if failed else "unset",
        status_message=(text_in(heard, words.ERRORS) or "") if failed else "",
        scope=record.scope,
        scope_version=record.scope_version,
        attributes={**attributes, **said},
        resource=record.resource,
        sequence=record.sequence,
        arrived_at=record.arrived_at,
        heard_sequence=record.sequence,
        heard_at=record.arrived_at,
        is_told=True,
    )


def words_told(acts: Acts) -> dict[str, str]:
    """Return what the agent was asked in which conversation, and what it answered in the end, as attributes of the
    conventions."""
    prompt = acts.prompts[-1]
    said: dict[str, str] = {}
    if session := text_of(prompt, words.SESSIONS):
        said[semconv.CONVERSATION_ID] = session
    if question := text_of(prompt, words.QUESTIONS):
        said[semconv.INPUT_MESSAGES] = _messages("user", [_text_part(question)])
    last = last_request(acts) if is_over(acts) else None
    if last is not None and last.text is not None:
        said[semconv.OUTPUT_MESSAGES] = _messages("assistant", [_text_part(last.text)])
    return said


def answer_told(request: Request) -> dict[str, str]:
    """Return what a model is known to have answered, in the same way: its text, and the calls that it asked for."""
    if request.has_body:
        return {}  # which tells more
    parts = [_text_part(request.text)] if request.text is not None else []
    parts += [_call_part(call_id, record) for call_id, record in request.calls.items()]
    return {semconv.OUTPUT_MESSAGES: _messages("assistant", parts)} if parts else {}


def execution_told(call_id: str, record: OwnRecord) -> dict[str, str]:
    """Return what is known of the execution of a tool, in the same way."""
    said = {
        semconv.TOOL_CALL_ID: call_id,
        semconv.TOOL_NAME: text_of(record, words.TOOLS),
        semconv.TOOL_CALL_ARGUMENTS: text_of(record, words.ARGUMENTS),
        semconv.TOOL_CALL_RESULT: text_of(record, words.RESULTS),
    }
    return {name: text for name, text in said.items() if text}


def _text_part(text: str) -> dict[str, object]:
    return {"type": "text", "content": text}


def _call_part(call_id: str, record: OwnRecord) -> dict[str, object]:
    part: dict[str, object] = {"type": "tool_call", "id": call_id, "name": text_of(record, words.TOOLS)}
    if (arguments := text_in(record.log.attributes, words.ARGUMENTS)) is not None:
        part["arguments"] = arguments
    return part


def _messages(role: str, parts: Sequence[Mapping[str, object]]) -> str:
    return write_json([{"role": role, "parts": [*parts]}])
