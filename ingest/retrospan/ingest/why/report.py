"""The chapters of a report, from what was asked to what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.cause import cause
from retrospan.ingest.why.columns import counted, quote_of
from retrospan.ingest.why.comparison import comparison
from retrospan.ingest.why.culprit import culprit_of, origin
from retrospan.ingest.why.found import HARM
from retrospan.ingest.why.others import others
from retrospan.ingest.why.problems import Problem, notes_of, problems_of
from retrospan.ingest.why.prompt import prompt
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Chapter, Quote, Report, Sentence
from retrospan.ingest.why.unknown import unknown
from retrospan.ingest.why.world import world

TITLES = {
    "run": "The run",
    "went_wrong": "What went wrong, first things first",
    "cause": "The cause of the first, as far as it is on record",
    "value": "Which value it is about, and where that came from",
    "world": "What it did to the world, and what is to be undone",
    "compared": "Compared with a good run",
    "others": "Other runs, and since when",
    "prompt": "What fills its prompts",
    "not_known": "What is not known, and what would tell",
}

#: How a run can stand without anything being wrong with it.
NOT_WRONG = ("running", "interrupted", "under_way")


def report_of(rows: RunRows) -> Report:
    """Return the report on a run."""
    problems, notes = problems_of(rows), notes_of(rows)
    told: dict[str, Sequence[Sentence]] = {
        "run": [*_run(rows)],
        "went_wrong": [*_went_wrong(rows, problems, notes)],
        "cause": [*cause(rows, problems)],
        "value": [*origin(rows, culprit_of([*problems, *notes]), problems)],
        "world": [*world(rows)],
        "compared": [*comparison(rows)],
        "others": [*others(rows, problems)],
        "prompt": [*prompt(rows)],
        "not_known": [*unknown(rows)],
    }
    chapters = [Chapter(name, TITLES[name], sentences) for name, sentences in told.items() if sentences]
    return Report(rows.run_id, chapters, _next(rows, problems))


def _run(rows: RunRows) -> Iterator[Sentence]:
    run, key = rows.run, Basis("runs", {"run_id": rows.run_id, "outcome": text_of(rows.run, "outcome")})
    said: list[str | Quote] = ["Run ", Quote(rows.run_id)]
    for name, before in (
        ("agent_name", " of agent "),
        ("agent_version", " "),
        ("service_name", " in service "),
    ):
        if (named := quote_of(run, name)) is not None:
            said += [before, named]
    took = run["duration_ms"]
    ended = "" if not isinstance(took, int | float) else f" and took {took / 1000:,.1f} s"
    said.append(
        f" began {run['started_at']}{ended}, with {counted(whole(run, 'steps') or 0, 'step')}. Outcome: {run['outcome']}."
    )
    yield Sentence("run", said, [key], None, rows.run_id)
    asked, answered = quote_of(run, "input", "input_length"), quote_of(run, "output", "output_length")
    if asked is not None:
        yield Sentence(
            "asked", ["It was asked: ", asked], [Basis("runs", {"run_id": rows.run_id})], None, rows.run_id
        )
    if answered is not None:
        yield Sentence(
            "answered",
            ["It answered: ", answered],
            [Basis("runs", {"run_id": rows.run_id})],
            None,
            rows.run_id,
        )
    if run["parent_run_id"] is not None:
        link = text_of(run, "parent_link") or "continues"
        said = [f"It {link} run ", Quote(str(run["parent_run_id"])), "."]
        basis = Basis("runs", {"run_id": rows.run_id, "parent_run_id": str(run["parent_run_id"])})
        yield Sentence("parent", said, [basis], None, rows.run_id)


def _went_wrong(rows: RunRows, problems: Sequence[Problem], notes: Sequence[Problem]) -> Iterator[Sentence]:
    if all(problem.kind in NOT_WRONG for problem in problems):
        views = ("failures",) if any(note.kind == "loop" for note in notes) else ("failures", "loops")
        none = [Basis(view, {"run_id": rows.run_id}, is_there=False) for view in views]
        none.append(Basis("findings", {"run_id": rows.run_id, "severity": HARM}, is_there=False))
        own = Basis("runs", {"run_id": rows.run_id, "outcome": text_of(rows.run, "outcome")})
        said = "Nothing went wrong that is on record" + (" so far." if problems else ".")
        if notes:
            said += " What stands out:"
        yield Sentence("nothing", [said], [own, *none], None, rows.run_id)
    yield from (problem.sentence for problem in problems)
    yield from (note.sentence for note in notes)
    total = whole(rows.failures[0], "total") or 0 if rows.failures else 0
    if total > len(rows.failures):
        said = f"Of {total:,} failures the first {len(rows.failures):,} are told here."
        yield Sentence("more", [said], [Basis("failures", {"run_id": rows.run_id})], None, rows.run_id)
    failed = sum(whole(group, "calls") or 0 for group in rows.groups("status") if group["status"] == "error")
    listed = sum(1 for call in rows.calls if call["status"] == "error")
    if failed > listed:
        said = f"Of {failed:,} tool calls that failed the first {listed:,} were looked at."
        basis = Basis("tool_calls", {"run_id": rows.run_id, "status": "error"})
        yield Sentence("more", [said], [basis], None, rows.run_id)


def _next(rows: RunRows, problems: Sequence[Problem]) -> list[str]:
    run_id = quote(rows.run_id)
    step = problems[0].sentence.step if problems else None
    commands = [f"retrospan show {run_id}" + (f"/{step} --full" if step is not None else "")]
    if step is not None:
        commands.append(f"retrospan trace {run_id}/{step}")
    if rows.baseline is not None:
        commands.append(f"retrospan diff {quote(rows.baseline.run_id)} {run_id}")
    if rows.missing is not None and any(rows.missing.values()):
        commands.append(f"retrospan doctor --run {run_id}")
    return commands
