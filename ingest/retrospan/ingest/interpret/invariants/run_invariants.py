"""Invariants of a whole run: its outcome, its answer, its names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.invariants.assembled_run import AROUND, AssembledRun, leaves_of
from retrospan.ingest.interpret.messages.message import text_of
from retrospan.ingest.interpret.normalize.model_names import VERSION
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.json_text import read_value

#: Shorter texts are part of an answer by chance.
_TEXT = 24
#: What no two runs have in common.
_RANDOM = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


def failed_agents(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield agents that failed and with which a run ended that ended well and answered nothing."""
    if run.outcome != "ok" or run.answer is not None:
        return
    begun = max(
        (span.sent.started_at for span in run.tree.spans if span.operation in ("inference", "tool")),
        default=0,
    )
    for span in run.tree.spans:
        if span.operation in AROUND and span.failed and span.sent.done_at >= begun:
            yield issue(
                span.sent.span_id,
                "outcome",
                run.outcome,
                "the run has no answer, and this agent, with which it ended, failed",
            )


def returned_answers(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield what a root returned, if it is only a part of the answer. Objects are not compared."""
    answer = run.answer.text.strip() if run.answer is not None else ""
    if len(answer) <= _TEXT or answer.startswith("```") or not isinstance(read_value(answer), str):
        return
    for root in run.tree.roots():
        if root.operation not in AROUND or root.failed:
            continue
        texts = [text_of(message) for message in root.output]
        if root.framework_output is not None:
            texts += [value for _, value in leaves_of(root.framework_output) if isinstance(value, str)]
        part = next(
            (text for text in texts if len(text) >= _TEXT and text != answer and text in answer), None
        )
        if part is not None and not any(answer in text for text in texts):
            yield issue(
                root.sent.span_id,
                "output",
                part,
                "the root returned only this part of what is read as the answer",
            )


def other_answers(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield answers that a root returned and that have nothing in common with the one that is read."""
    said = run.answer.text if run.answer is not None else ""
    for root in run.tree.roots() if said else ():
        if root.operation == "inference":
            continue  # one call of several that have nothing around them
        texts = [
            text for message in root.output if message["role"] == "assistant" and (text := text_of(message))
        ]
        if not texts or any(said in text or text in said for text in texts):
            continue  # as they are, without a look at how they are written
        answer = _plain(said)
        if answer and not any(answer in text or text in answer for text in map(_plain, texts)):
            yield issue(
                root.sent.span_id, "output", texts[-1], "the root returned this, and not the last answer"
            )


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def request_models(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield versions of models as what was asked for, where the agent asks for the model by its name elsewhere."""
    asked = {(call.span.agent_name, call.span.request_model) for call in run.calls.models}
    if len(asked) < 2:
        return
    for call in run.calls.models:
        name = call.span.request_model
        if name is None or name != call.span.response_model:
            continue
        version = VERSION.search(name)
        if version is None:
            continue
        if (call.span.agent_name, name[: version.start()]) in asked:
            reason = "the version that answered; other calls asked for the model by its name"
            yield issue(call.span.sent.span_id, "request_model", name, reason)


def agent_names(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield names of agents, taken from their spans, that no other run can have: there is a random id in them."""
    seen: set[str] = set()
    for span in run.tree.spans:
        name = span.agent_name
        if span.operation in AROUND and name and name not in seen:
            seen.add(name)
            if name in span.sent.name and _RANDOM.search(name):
                yield issue(
                    span.sent.span_id,
                    "agent_name",
                    name,
                    "a name that no other run can have: it holds a random id",
                )
