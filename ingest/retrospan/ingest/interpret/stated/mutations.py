"""What tool calls changed, by the user's mutation rules: observations from plain instrumentation."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.calls.calls import Calls, ToolCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.key import text_of_attribute
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.stated.observations import Observation, observe
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.json_text import write_json
from retrospan.ingest.rules.paths import MISSING
from retrospan.ingest.rules.rule import Called, Missed, Statement, result_of
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of


def read_mutations(
    calls: Calls, steps: list[RunStep], rules: Ruleset, problems: ParseIssues
) -> Iterator[Observation]:
    """Yield the observations of a run's calls by the rules; a value that a rule does not find is a problem.

    What a field held before counts from the start of the call, what it became from its end. A call without a span of
    its own, told of by the next prompt, counts from the end of the model call that asked for it.
    """
    if not rules.rules:
        return
    numbers = {step.span: step.number for step in steps}
    for ordinal, tool in enumerate(calls.tools, start=1):
        span = tool.span or (calls.models[tool.asked.by - 1].span if tool.asked else None)
        if span is None:
            continue
        for said in rules.read_call(called(tool, span)):
            if isinstance(said, Missed):
                given = write_json(tool.arguments) if tool.has_arguments else ""
                problems.add(span.sent.span_id, f"rule:{said.rule}", given, f"{said.key}: {said.reason}")
            else:
                yield from _observation(said, ordinal if tool.span is None else 0, span, numbers.get(span))


def called(tool: ToolCall, span: NormalizedSpan) -> Called:
    """Return a tool call as rules see it."""
    result = tool.result if tool.result_source is not None else MISSING
    return Called(
        tool=tool.name,
        agent=span.agent_name,
        service=text_of_attribute(span.sent.resource.get(semconv.SERVICE_NAME)),
        status=tool.status,
        arguments=tool.arguments if tool.has_arguments else MISSING,
        result=result_of(result) if isinstance(result, str) else result,
    )


def _observation(
    said: Statement, ordinal: int, span: NormalizedSpan, step: int | None
) -> Iterator[Observation]:
    sent = span.sent
    at = sent.done_at
    if said.held:
        # Before what it became, also where the call took no time.
        at = max(0, at - 1 if ordinal else min(sent.started_at, at - 1))
    named = [sent.trace_id, sent.span_id, said.source, said.element, ordinal]
    common = Observation(
        observation_id=hash_of(named),
        entity_type=said.entity_type,
        entity_id=said.entity_id,
        field="",
        value=None,
        value_hash="",
        valid_from=at,
        said_at=at,
        known_from=sent.arrived_at,
        step=step,
        span=span,
        source=said.source,
        confidence=said.confidence,
        priority=said.priority,
    )
    yield from observe(common, {said.field: said.value})
