"""The row of a run: what it was asked and answered, what it used, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.invariants.around_requests import counts_of_calls, tokens_around
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.key import Key, text_of_attribute, whole_number
from retrospan.ingest.interpret.spans.span import Attributes, Link, Span
from retrospan.schemas import semconv
from retrospan.schemas.attributes import (
    FORK_PATCH,
    FORK_STEP,
    LINK_TYPE,
    RUN_FLAGGED,
    RUN_ID,
    RUN_KIND,
    RUN_ORIGIN,
)
from retrospan.schemas.canonical import RunRow
from retrospan.schemas.hashing import hash_of

#: Types of links that lead to a parent, and those of them after which the run is still about the same task.
_DESCENT = frozenset({"forks", "replays", "retries", "resumes"})
_SAME_TASK = frozenset({"retries", "resumes"})
#: What any span of a run may say of the whole.
_OF_RUNS = frozenset({RUN_ORIGIN, RUN_KIND, RUN_FLAGGED, FORK_STEP, FORK_PATCH})


def run_row(key: Key, run: InterpretedRun, final: Sequence[int], history_run_id: str | None) -> RunRow:
    """Return the row of a run; `final` are the numbers of the messages of its final history."""
    spans = run.tree.spans
    sent = [span.sent for span in spans]
    top = next((r for r in run.tree.roots() if r.operation in ("agent", "workflow")), spans[0])
    resource = top.sent.resource
    times = _Times(sent)
    started, ended = times.started_at, times.ended_at
    complete = run.incomplete_because not in ("no_root", "missing_parent", "not_ended")
    tops = (*run.tree.roots(), *spans) if times.any_is_open else ()
    open_tops = [each.sent for each in tops if each.sent.is_open]
    attributes = [each.attributes for each in sent if not each.attributes.keys().isdisjoint(_OF_RUNS)]
    usage = _usage(run)
    parent, link = _parent_of(run)
    joins = _joins(run.run_id, sent)
    return RunRow(
        tenant=key["tenant"],
        run_id=key["run_id"],
        generation=key["generation"],
        deleted=False,
        origin_run_id=_first(attributes, RUN_ORIGIN)
        or (parent if parent and link in _SAME_TASK else key["run_id"]),
        parent_run_id=parent,
        parent_link=link,
        conversation_id=run.conversation,
        run_kind=_first(attributes, RUN_KIND) or "production",
        agent_name=_agent_of(run, top.agent_name),
        agent_version=next((r.agent_version for r in spans if r.agent_version), None),
        service_name=text_of_attribute(resource.get(semconv.SERVICE_NAME)),
        service_version=text_of_attribute(resource.get(semconv.SERVICE_VERSION)),
        environment=text_of_attribute(resource.get(semconv.DEPLOYMENT_ENVIRONMENT_NAME))
        or text_of_attribute(resource.get(semconv.DEPLOYMENT_ENVIRONMENT)),
        started_at=started,
        ended_at=ended if complete and ended else None,
        duration_ms=(ended - started) / 1e6 if complete and started and ended >= started else None,
        outcome=run.outcome,
        incomplete_because=run.incomplete_because,
        input=run.input,
        output=run.output,
        input_hash=hash_of(run.input) if run.input is not None else None,
        answer_ref=run.answer_ref,
        steps=len(run.steps),
        model_calls=len(run.calls.models),
        tool_calls=len(run.calls.tools),
        errors=sum(step.status == "error" for step in run.steps),
        input_tokens=usage[0],
        output_tokens=usage[1],
        trace_ids=sorted({each.trace_id for each in sent}),
        dialects=sorted({span.dialect for span in spans if span.dialect}),
        flagged=any(place.get(RUN_FLAGGED) is True for place in attributes),
        newest_ended_at=ended,
        arrived_at=times.arrived_at,
        through_sequence=times.sequence,
        final_history=[*final],
        final_history_hash=run.values.hash_of_all(final),
        history_run_id=history_run_id,
        interpreted_by=run.interpreted_by,
        problems=len(run.problems),
        user_id=next((span.user for span in spans if span.user), None),
        aliases=[*joins],
        joined_by=[*joins.values()],
        process_id=open_tops[0].process_id if open_tops else "",
        is_open=run.incomplete_because == "not_ended",
        last_said_at=times.said_at,
        fork_step=_first_number(attributes, FORK_STEP) if link == "forks" else None,
        patch=_first(attributes, FORK_PATCH) if link == "forks" else None,
    )


class _Times:
    """The first and the last of what the spans of a run say: when they began, ended, said something, and arrived."""

    def __init__(self, spans: Sequence[Span]) -> None:
        first = spans[0]
        self.started_at, self.ended_at, self.said_at = first.started_at, first.ended_at, first.said_at
        self.arrived_at, self.sequence = first.arrived_at, first.sequence
        self.any_is_open = False
        for span in spans:
            self.started_at = min(self.started_at, span.started_at)
            self.ended_at = max(self.ended_at, span.ended_at)
            self.said_at = max(self.said_at, span.said_at)
            self.arrived_at = max(self.arrived_at, span.arrived_at, span.heard_at)
            self.sequence = max(self.sequence, span.sequence, span.heard_sequence)
            self.any_is_open = self.any_is_open or span.is_open


def _agent_of(run: InterpretedRun, top: str | None) -> str | None:
    """Return the agent of the run: the outermost that was invoked, else the root's, else that of its first call, if that was
    not made below a tool."""
    agents = [span for span in run.tree.spans if span.operation == "agent" and span.agent_name]
    if agents or top:
        return min(agents, key=run.tree.depth).agent_name if agents else top
    call = next((call.span for call in run.calls.models if call.span.agent_name), None)
    below = run.tree.nearest(lambda span: span.operation == "tool") if call else {}
    return call.agent_name if call and call not in below else None


def _joins(run_id: str, spans: Sequence[Span]) -> dict[str, str]:
    """Return the traces of a run but the one that it is called after, and why each belongs to it.

    `run_id`: its spans name the run; `link`: it links to another of the traces; `history`: its first prompt retells one.
    """
    own: dict[str, list[Span]] = {}
    for span in spans:
        own.setdefault(span.trace_id, []).append(span)
    found: dict[str, str] = {}
    for trace_id, sent in sorted(own.items()):
        if trace_id == run_id:
            continue
        links = [link for span in sent for link in span.links if link.trace_id in own]
        if any(span.attributes.get(RUN_ID) == run_id for span in sent):
            found[trace_id] = "run_id"
        elif any(link.trace_id != trace_id and _goes_on(link) for link in links):
            found[trace_id] = "link"
        else:
            found[trace_id] = "history"
    return found


def _goes_on(link: Link) -> bool:
    return text_of_attribute(link.attributes.get(LINK_TYPE)) in (None, "continues")


def _parent_of(run: InterpretedRun) -> tuple[str | None, str | None]:
    """Return the run that this one descends from and how: by the first link that says so, else by what it was given.

    A link leads into a trace; where that trace is not the run, the link names the run itself.
    """
    for span in run.tree.spans:
        for link in span.sent.links:
            kind = text_of_attribute(link.attributes.get(LINK_TYPE))
            parent = text_of_attribute(link.attributes.get(RUN_ID)) or link.trace_id
            if kind in _DESCENT and parent != run.run_id:
                return parent, kind
    return (run.resumed_run_id, "resumes") if run.resumes else (None, None)


def _first(places: Sequence[Attributes], key: str) -> str | None:
    return next((value for place in places if (value := text_of_attribute(place.get(key)))), None)


def _first_number(places: Sequence[Attributes], key: str) -> int | None:
    return next((value for place in places if (value := whole_number(place.get(key))) is not None), None)


def _usage(run: InterpretedRun) -> tuple[int | None, int | None]:
    """Return the run's tokens: each model call once, roll-ups above only where no call says any, or one that has no span of its
    own says none: then those of the others are not all. Or those of the model's spans around all requests.

    Of a side that a call does not say, though it did not fail, the roll-ups count where they come to more.
    """
    counted = [*counts_of_calls(run.tree, run.calls.models)]
    own = [tokens for _, tokens in counted]
    says_any = any(map(_counts, own))
    went_well = [(call.span, tokens) for call, tokens in counted if not call.span.failed]
    tops = [r.tokens for r in run.tree.roots() if r.operation in ("agent", "workflow")]
    if not says_any or any(span.is_told and not _counts(tokens) for span, tokens in went_well):
        own = [tokens for tokens in tops if _counts(tokens)]
        if not own and not says_any:
            own = tokens_around(run.tree, run.calls.models)
        return _sums(own)
    given, made = _sums(own)
    given_above, made_above = _sums(tops)
    if (given_above or 0) < (given or 0) or (made_above or 0) < (made or 0):
        return given, made  # less on a side: not a sum of these
    # Nobody asks nothing: an input of 0 was not counted.
    if any(not tokens.input for _, tokens in went_well):
        given = given_above or given
    if any(tokens.output is None for _, tokens in went_well):
        made = made_above or made
    return given, made


def _counts(tokens: TokenUsage) -> bool:
    return tokens.input is not None or tokens.output is not None


def _sums(counts: Sequence[TokenUsage]) -> tuple[int | None, int | None]:
    given = [tokens.input for tokens in counts if tokens.input is not None]
    made = [tokens.output for tokens in counts if tokens.output is not None]
    return (sum(given) if given else None, sum(made) if made else None)
