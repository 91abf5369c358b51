"""What evaluators say of the agents' work: scores, labels and reasons, what was judged and by whom.

From `gen_ai.evaluation.result`, as span event and as log record; from the same attributes on a span; and from the lists
`annotations` and `evaluations` of OpenInference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import Calls, ModelCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import EVALUATION_RESULT, facts_named, facts_of
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Attributes, Span
from retrospan.ingest.interpret.spans.span_names import names_of_span
from retrospan.ingest.interpret.spans.unflatten import unflatten
from retrospan.ingest.interpret.stated.events import Whereabouts
from retrospan.ingest.interpret.stated.fields import Fields
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import read_value, write_json
from retrospan.schemas import semconv
from retrospan.schemas.attributes import LINK_TYPE
from retrospan.schemas.references import message_ref, span_ref, step_ref

#: OpenInference: the list on the span that is judged, the one on the span that judges, and what is inside each element.
ANNOTATIONS, EVALUATIONS = "annotations", "evaluations"
_ELEMENTS = {ANNOTATIONS: "annotation", EVALUATIONS: "evaluation"}
_LISTS = (f"{ANNOTATIONS}.", f"{EVALUATIONS}.")
#: The names of an element by those of the event.
_SAME = {
    semconv.EVALUATION_NAME: "name",
    semconv.EVALUATION_SCORE_VALUE: "score",
    semconv.EVALUATION_SCORE_LABEL: "label",
    semconv.EVALUATION_EXPLANATION: "explanation",
}
_RESULTS = (
    semconv.EVALUATION_SCORE_VALUE,
    semconv.EVALUATION_SCORE_LABEL,
    semconv.EVALUATION_EXPLANATION,
)
#: Where an element of a list says who judged.
_JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Evaluation:
    span: NormalizedSpan
    step: int | None
    name: str | None
    score: float | None
    label: str | None
    explanation: str | None
    judged: str | None  # a reference; None where it is not told
    judge: str | None
    response_id: str | None  # of the answer that was judged, as the evaluator names it
    error_type: str | None  # why there is no result
    at: int
    is_loose: bool  # named no span: that of the trace's first is not its


@dataclass(frozen=True, slots=True)
class _Said:
    """One evaluation as it was said, under the names of the event. `of_own`: of the span that it lies on."""

    attributes: Attributes
    at: int
    of_own: bool
    places: Mapping[str, str]  # under which attribute each name was sent, where it has another
    is_loose: bool = False


class _Targets:
    """What evaluations of a run can be about, as references."""

    def __init__(
        self, run_id: str, calls: Calls, steps: Sequence[RunStep], where: Whereabouts, values: Values
    ) -> None:
        self._run_id, self._where, self._values = run_id, where, values
        self._steps = {step.model.ordinal: step.number for step in steps if step.model is not None}
        self._answers = {
            call.span.response_id: call for call in reversed(calls.models) if call.span.response_id
        }
        self._spans = {(step.span.sent.trace_id, step.span.sent.span_id): step for step in steps}

    def answer(self, response_id: str) -> str | None:
        """Return the answer that has an id; None where this run has none of that id."""
        call = self._answers.get(response_id)
        return None if call is None else self._said_by(call)

    def act(self, span: NormalizedSpan) -> str:
        """Return what a span did: the answer of a model call, else its step, else the span."""
        step = self._where.around(span)
        if step is not None and (step.span is span or (span.is_part and step.model is not None)):
            return self._of_step(step)
        return span_ref(span.sent.trace_id, span.sent.span_id)

    def linked(self, span: NormalizedSpan) -> str | None:
        """Return what the one link of an evaluator's span points to; a parent says nothing of what was judged."""
        links = {
            (link.trace_id, link.span_id) for link in span.sent.links if LINK_TYPE not in link.attributes
        }
        if len(links) != 1:
            return None
        (place,) = links
        step = self._spans.get(place)
        return span_ref(*place) if step is None else self._of_step(step)

    def _of_step(self, step: RunStep) -> str:
        return self._said_by(step.model) if step.model is not None else step_ref(self._run_id, step.number)

    def _said_by(self, call: ModelCall) -> str:
        if len(call.output_values) == 1:
            return message_ref(self._values.hash(call.output_values[0]))
        return step_ref(self._run_id, self._steps[call.ordinal])


def read_evaluations(
    run_id: str,
    tree: Tree,
    calls: Calls,
    steps: Sequence[RunStep],
    whereabouts: Whereabouts,
    values: Values,
    problems: ParseIssues,
) -> list[Evaluation]:
    """Return the evaluations in the order of their spans, those of one span by time.

    What cannot be read is None and a problem; the evaluation is kept.
    """
    telling = [span for span in tree.spans if not span.is_told and _may_say(span.sent)]
    told = [(span, said) for span in telling for said in (*_said(span), *_loose(span))]
    if not told:
        return []
    targets = _Targets(run_id, calls, steps, whereabouts, values)
    return [_evaluation(span, said, targets, whereabouts, problems) for span, said in told]


def _may_say(sent: Span) -> bool:
    """Tell whether there is anything in a span that evaluations are said by."""
    if sent.events or sent.logs or sent.loose or semconv.EVALUATION_NAME in sent.attributes:
        return True
    names = names_of_span(sent)
    return bool(names.under(_LISTS[0]) or names.under(_LISTS[1]))


def _said(span: NormalizedSpan) -> list[_Said]:
    """Return what a span says, each evaluation once: it may repeat an event in its attributes, or in a list."""
    sent, judges = span.sent, _judges(span)
    events = facts_named(sent, (EVALUATION_RESULT,)) if sent.events or sent.logs else []
    told = [_Said(event.attributes, event.time_ns or sent.done_at, not judges, {}) for event in events]
    if semconv.EVALUATION_NAME in sent.attributes and any(key in sent.attributes for key in _RESULTS):
        # Of a span of an unknown kind it is not told whether it was judged or judged something.
        of_own = not judges and span.operation != "other"
        told += _not_yet(told, [_Said(sent.attributes, sent.done_at, of_own, {})])
    names = names_of_span(sent)
    for prefix in _ELEMENTS:
        if names.under(f"{prefix}."):
            listed = _listed(sent.attributes, prefix, sent.done_at, prefix == ANNOTATIONS)
            told += _not_yet(told, listed)
    return told


def _loose(span: NormalizedSpan) -> list[_Said]:
    """Return the evaluations in a span's trace that name no span that is known."""
    events = facts_of((), span.sent.loose, (EVALUATION_RESULT,)) if span.sent.loose else []
    return [_Said(event.attributes, event.time_ns, False, {}, is_loose=True) for event in events]


def _judges(span: NormalizedSpan) -> bool:
    """Tell whether a span is the work of an evaluator: some send the event as a span of its own."""
    return span.operation == "evaluation" or span.sent.name == EVALUATION_RESULT


def _not_yet(told: Sequence[_Said], more: Sequence[_Said]) -> list[_Said]:
    """Return those of the second list that the first does not tell already."""
    known = Counter(_content(said.attributes) for said in told)
    found: list[_Said] = []
    for said in more:
        content = _content(said.attributes)
        if known[content]:
            known[content] -= 1
        else:
            found.append(said)
    return found


def _content(attributes: Attributes) -> str:
    return write_json([attributes.get(key) for key in _SAME])


def _listed(attributes: Attributes, prefix: str, at: int, of_own: bool) -> list[_Said]:
    """Return the elements of a list of OpenInference, under the names of the event."""
    inner = _ELEMENTS[prefix]
    found: list[_Said] = []
    for element in unflatten(attributes, prefix):
        fields = element.get(inner)
        if not isinstance(fields, dict):
            continue
        said: dict[str, object] = {name: fields[key] for name, key in _SAME.items() if key in fields}
        metadata = read_value(fields.get("metadata"))
        judge = metadata.get("evaluator") if isinstance(metadata, dict) else None
        said[_JUDGE] = judge if isinstance(judge, str) and judge else fields.get("annotator_kind")
        found.append(
            _Said(said, at, of_own, {name: f"{prefix}.{inner}.{key}" for name, key in _SAME.items()})
        )
    # Their order means nothing: whoever lists them otherwise says the same.
    return sorted(found, key=lambda each: write_json(each.attributes))


def _evaluation(
    span: NormalizedSpan, said: _Said, targets: _Targets, whereabouts: Whereabouts, problems: ParseIssues
) -> Evaluation:
    fields = Fields(said.attributes, span.sent.span_id, problems, said.places)
    step = None if said.is_loose else whereabouts.around(span)
    response_id = fields.text(semconv.RESPONSE_ID)
    own_id = said.attributes is span.sent.attributes and not _judges(span)
    if response_id is not None and not own_id:
        judged = targets.answer(response_id)
    elif said.is_loose:
        judged = None
    else:
        judged = targets.act(span) if said.of_own else targets.linked(span)
    return Evaluation(
        span,
        step.number if step else None,
        fields.required(semconv.EVALUATION_NAME, EVALUATION_RESULT),
        fields.number(semconv.EVALUATION_SCORE_VALUE),
        fields.text(semconv.EVALUATION_SCORE_LABEL),
        fields.text(semconv.EVALUATION_EXPLANATION),
        judged,
        _judge(said, span),
        response_id,
        fields.text(semconv.ERROR_TYPE),
        said.at,
        said.is_loose,
    )


def _judge(said: _Said, span: NormalizedSpan) -> str | None:
    """Return who judged: as the evaluation says, else the agent or the model of the evaluator's span."""
    for name in (_JUDGE, *span.names.judges):
        value = read_value(said.attributes.get(name))
        named = value.get("name") if isinstance(value, dict) else value
        if isinstance(named, str) and named:
            return named
    if said.is_loose or not _judges(span):
        return None
    own = Fields(span.sent.attributes, span.sent.span_id, ParseIssues())
    return own.text(semconv.AGENT_NAME) or own.text(semconv.RESPONSE_MODEL) or own.text(semconv.REQUEST_MODEL)
