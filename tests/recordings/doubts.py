"""Whether runs that are misread say so: facts of every recording against the problems that its reading lists.

A run that says that it is incomplete, for spans of it never came, says so too.

    cd tests && python -m recordings.doubts

A recording counts once, with all runs in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fix_recordings import OTHERS, Recording, load_recording, manifest, taken
from recordings.record.facts import Fact, facts_of
from recordings.record.pure_views import views_of_rows
from spans import spans_of_requests

from retrospan.ingest.interpret.grouping.grouping import groups_of, join_turns, runs_of, trace_of
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import InterpretedRun, interpret, read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span

#: How a run says that spans of it never came: it does not claim that what it tells is all.
_LOST = ("no_root", "missing_parent")
#: What holds of these is asked by tests/interpret/test_recordings.py: their runs are not one for each turn.
_BROKEN_OFF = ("crash", "fork", "interrupt")
_OF_MODEL_CALLS = (
    "number of model calls",
    "model call",
    "request model",
    "response model",
    "answer",
    "message",
)


@dataclass(frozen=True)
class Reading:
    """A recording as it is read: the names of its facts that are wrong, and (field, reason) of its problems."""

    name: str
    wrong: Sequence[str]
    problems: Sequence[tuple[str, str]]
    lacks_calls: bool = False
    """Whether model calls were made that its bytes do not tell of: no reader could know them, but that they are missing."""

    @property
    def is_right(self) -> bool:
        told = [
            problem for problem in self.problems if not (self.lacks_calls and problem[0] == "model_calls")
        ]
        return not self.wrong and (bool(told) or not self.problems)


def readings() -> Iterator[Reading]:
    """Read every recording but those held back."""
    recordings = {name: load_recording(name) for name in sorted(manifest())} | taken(OTHERS) | taken()
    for recording in recordings.values():
        runs = _runs_of(recording)
        rows = [rows_of(run, "default", 1, None) for run in runs]
        every = facts_of(recording, views_of_rows(rows))
        facts = [fact for fact in every if fact.is_known]
        wrong = [fact.name for fact in facts if not fact.holds and _is_asked(fact, recording)]
        problems = [(problem.field, problem.reason) for each in rows for problem in each.problems]
        if wrong:
            lost = {run.incomplete_because for run in runs} & {*_LOST}
            problems += [("outcome", f"incomplete: {reason}") for reason in sorted(map(str, lost))]
        yield Reading(
            recording.name,
            wrong,
            problems,
            any(
                fact.name == "number of model calls" and not fact.holds for fact in every if not fact.is_known
            ),
        )


def _is_asked(fact: Fact, recording: Recording) -> bool:
    return not recording.name.endswith(_BROKEN_OFF) or fact.name.startswith(_OF_MODEL_CALLS)


def _runs_of(recording: Recording) -> list[InterpretedRun]:
    """Return the runs, over traces that join each other, each with the history of the one before where it wants it."""
    runs: list[InterpretedRun] = []
    order = sorted(
        _grouped(recording).items(), key=lambda item: min(each.sent.started_at for each in item[1])
    )
    for run_id, _ in order:

        def read(previous: Sequence[Message] | None, run_id: str = run_id) -> InterpretedRun:
            # Read anew: interpretation completes the spans in place.
            return interpret(run_id, _grouped(recording)[run_id], ParseIssues(), previous)

        run = read(None)
        if run.wants_previous_run and runs and runs[-1].conversation == run.conversation:
            run = read(runs[-1].final_history)
        runs.append(run)
    return runs


def _grouped(recording: Recording) -> dict[str, list[NormalizedSpan]]:
    traces: dict[str, list[Span]] = {}
    for span in spans_of_requests(recording.traces, recording.logs):
        traces.setdefault(span.trace_id, []).append(span)
    read = {
        trace_id: trace_of(trace_id, own, read_spans(own, ParseIssues())) for trace_id, own in traces.items()
    }
    return {run_id: own for group in groups_of(join_turns(read)) for run_id, own in runs_of(group).items()}


def report(found: Sequence[Reading]) -> Mapping[str, list[Reading]]:
    """Sort readings: `silent` are wrong and list nothing, `alarmed` are right and list something.

    One that lists only that model calls are missing which its bytes do not tell of is neither right nor wrong.
    """
    return {
        "silent": [each for each in found if each.wrong and not each.problems],
        "listed": [each for each in found if each.wrong and each.problems],
        "alarmed": [each for each in found if each.is_right and each.problems],
        "right": [each for each in found if each.is_right and not each.problems],
    }


def main() -> None:
    """Print the numbers, then the readings that are silent and those that are alarmed."""
    sorted_out = report(list(readings()))
    right = len(sorted_out["right"]) + len(sorted_out["alarmed"])
    print(f"wrong and listed: {len(sorted_out['listed'])}")
    print(f"wrong and no problem: {len(sorted_out['silent'])}")
    for each in sorted_out["silent"]:
        print(f"    {each.name}: {', '.join(each.wrong)}")
    print(f"right and a problem: {len(sorted_out['alarmed'])} of {right}")
    for each in sorted_out["alarmed"]:
        print(f"    {each.name}: {each.problems[0][0]}: {each.problems[0][1]}")


if __name__ == "__main__":
    main()
