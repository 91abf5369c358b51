"""Invariants of a whole run: sums and totals, its outcome and answer, its names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.assembly.assembled_run import AssembledRun
from retrospan.ingest.interpret.assembly.calls import ModelCall
from retrospan.ingest.interpret.normalize.message import text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.json_text import read_value

_AROUND = ("agent", "workflow")
#: Shorter texts are part of an answer by chance.
_TEXT = 24
#: As much of what a framework returned is looked through.
_LEAVES = 2_000
_COUNTS = ("prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "prompt_token_count", "promptTokenCount")
#: What no two runs have in common.
_RANDOM = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
#: What tells a version of a model from the name by which it is asked for.
_VERSION = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8}|\d{3,4})")


def token_sums(run: AssembledRun) -> Iterator[ParseIssue]:
    """The total of an agent is the sum of the model calls inside it: of all, or of those that are not another agent's.

    Frameworks also state the tokens of one call, those without what came from a cache, or, where the conversation had
    begun before, the sum since its beginning.
    """
    if not any(span.operation in _AROUND and (span.tokens.input or span.tokens.output) for span in run.tree.spans):
        return
    above = run.tree.nearest(lambda span: span.operation in _AROUND)
    own: dict[NormalizedSpan, list[ModelCall]] = {}
    for call in run.calls.models:
        if call.span in above:
            own.setdefault(above[call.span], []).append(call)
    whole: dict[NormalizedSpan, list[ModelCall]] = {}
    for span in reversed(run.tree.top_down()):
        if span.operation not in _AROUND:
            continue
        # Each list is taken once, by the agent right around it.
        inside = [*own.get(span, ()), *whole.pop(span, ())]
        if inside:
            yield from _unlike_total(span, own.get(span, []), inside)
        if inside and span in above:
            whole.setdefault(above[span], []).extend(inside)


def _unlike_total(span: NormalizedSpan, own: list[ModelCall], inside: list[ModelCall]) -> Iterator[ParseIssue]:
    goes_on = any(message["role"] == "assistant" for call in inside[:1] for message in call.input)
    for name in ("input", "output"):
        total: int | None = getattr(span.tokens, name)
        counts: list[int | None] = [getattr(call.span.tokens, name) for call in inside]
        known = [count for count in counts if count is not None]
        if not total or len(known) < len(counts):
            continue
        cached = sum(call.span.tokens.cached or 0 for call in inside) if name == "input" else 0
        said = {sum(known), sum(known) - cached, sum(getattr(call.span.tokens, name) for call in own), *known}
        if total in said or (goes_on and total > sum(known)):
            continue
        reason = f"the total is not the sum of the {len(known)} model calls inside: {sum(known)}"
        yield issue(span.sent.span_id, f"{name}_tokens", str(total), reason)


def unread_tokens(run: AssembledRun) -> Iterator[ParseIssue]:
    """A run of whose tokens nothing is known returned no count of them."""
    tokens = [span.tokens for span in (*run.tree.roots(), *(call.span for call in run.calls.models))]
    if not run.calls.models or any(each.input or each.output for each in tokens):
        return
    for root in run.tree.roots():
        for key, value in _leaves(root.framework_output):
            if key in _COUNTS and isinstance(value, int) and value:
                yield issue(root.sent.span_id, "input_tokens", f"{key}: {value}", "a count of tokens that is not read")
                return


def failed_agents(run: AssembledRun) -> Iterator[ParseIssue]:
    """A run that ended well and answered nothing did not end with an agent that failed."""
    if run.outcome != "ok" or run.answer is not None:
        return
    begun = max((span.sent.started_at for span in run.tree.spans if span.operation in ("inference", "tool")), default=0)
    for span in run.tree.spans:
        if span.operation in _AROUND and span.failed and span.sent.done_at >= begun:
            yield issue(
                span.sent.span_id, "outcome", run.outcome, "the run has no answer, and this agent, with which it ended, failed"
            )


def returned_answers(run: AssembledRun) -> Iterator[ParseIssue]:
    """What the root returned holds the answer: not only a part of what the model said. Objects are not compared."""
    answer = run.answer.text.strip() if run.answer is not None else ""
    if len(answer) <= _TEXT or answer.startswith("```") or not isinstance(read_value(answer), str):
        return
    for root in run.tree.roots():
        if root.operation not in _AROUND or root.failed:
            continue
        texts = [text_of(message) for message in root.output]
        texts += [value for _, value in _leaves(root.framework_output) if isinstance(value, str)]
        part = next((text for text in texts if len(text) >= _TEXT and text != answer and text in answer), None)
        if part is not None and not any(answer in text for text in texts):
            yield issue(root.sent.span_id, "output", part, "the root returned only this part of what is read as the answer")


def request_models(run: AssembledRun) -> Iterator[ParseIssue]:
    """An agent that asks for a model by its name asks for no version of it elsewhere: that is what answered."""
    asked = {(call.span.agent_name, call.span.request_model) for call in run.calls.models}
    for call in run.calls.models:
        name = call.span.request_model
        version = _VERSION.search(name or "")
        if name is None or version is None or version.end() < len(name) or name != call.span.response_model:
            continue
        if (call.span.agent_name, name[: version.start()]) in asked:
            reason = "the version that answered; other calls asked for the model by its name"
            yield issue(call.span.sent.span_id, "request_model", name, reason)


def agent_names(run: AssembledRun) -> Iterator[ParseIssue]:
    """The name of an agent is the same in every run: there is no random id in it."""
    seen: set[str] = set()
    for span in run.tree.spans:
        name = span.agent_name
        if span.operation in _AROUND and name and name not in seen:
            seen.add(name)
            if name in span.sent.name and _RANDOM.search(name):
                yield issue(span.sent.span_id, "agent_name", name, "a name that no other run can have: it holds a random id")


def _leaves(value: object) -> Iterator[tuple[str, object]]:
    """Yield what stands in a value at any depth and has no parts, with its key."""
    waiting: list[tuple[str, object]] = [("", value)]
    for _ in range(_LEAVES):
        if not waiting:
            return
        key, at = waiting.pop()
        if isinstance(at, dict):
            waiting += ((str(name), inner) for name, inner in at.items())
        elif isinstance(at, list):
            waiting += ((key, inner) for inner in at)
        else:
            yield key, at
