"""Which value what went wrong is about, and where it came from."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.json_text import path_into
from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.problems import Problem
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Sentence, Value

#: A shorter text stands in too many places to be traced; a longer one is not one value.
_SHORTEST, _LONGEST = 3, 200
#: So many values of a call's arguments are looked at.
_MOST_VALUES = 1_000


@dataclass(frozen=True, slots=True)
class Culprit:
    """A value among the arguments of a call, where in them it stands, and how it is known to matter."""

    value: str
    path: str
    ordinal: int
    step: int | None
    how: str

    @property
    def role(self) -> str:
        """Return the part that an earlier thing with it played."""
        return f"argument {self.path}".rstrip()

    @property
    def written(self) -> str:
        """Return it as it stands in a message, which is JSON."""
        return json.dumps(self.value, ensure_ascii=False)[1:-1]

    @property
    def pattern(self) -> str:
        """Return what finds it where no letter or digit goes on, for the engine's regular expressions."""
        return rf"(?:^|[^\pL\pN]){re.escape(self.written)}(?:$|[^\pL\pN])"


def culprit_of(problems: Sequence[Problem]) -> Culprit | None:
    """Return the value that the first problem is about, if its call has one: what the error names, else what a loop asks."""
    for problem in problems:
        call = problem.call
        if call is None or problem.kind not in ("failure", "loop", "repeat"):
            continue
        values = [*_values(text_of(call, "arguments"))]
        failure = problem.failure if problem.failure is not None else call
        error = " ".join(
            text_of(row, name) or "" for row, name in ((failure, "error_message"), (call, "result"))
        )
        named = [(path, value) for path, value in values if _names(error, value)]
        found, how = (
            named[:1],
            "the error names it" if problem.kind == "failure" else "what came back names it",
        )
        if not found and problem.kind != "failure":
            found, how = sorted(values, key=lambda each: -len(each[1]))[:1], "it is what every call asks"
        for path, value in found:
            return Culprit(value, path, whole(call, "ordinal") or 0, whole(call, "step"), how)
        return None
    return None


def origin(rows: RunRows, culprit: Culprit | None, problems: Sequence[Problem]) -> Iterator[Sentence]:
    """Yield the value, and where it stands first on record."""
    if culprit is None:
        if problems and problems[0].call is not None and problems[0].kind == "failure":
            unknown = "Which value is wrong is not known: the error names none of the arguments."
            yield Sentence(
                "value_unknown",
                [unknown],
                problems[0].sentence.rests_on,
                problems[0].sentence.step,
                rows.run_id,
            )
        return
    basis = Basis("tool_calls", {"run_id": rows.run_id, "ordinal": culprit.ordinal})
    where = f"step {culprit.step}" if culprit.step is not None else f"tool call {culprit.ordinal}"
    said: list[str | Quote] = ["It is about ", Quote(culprit.value)]
    said += [" (", Quote(culprit.path), ")"] if culprit.path else []
    said.append(f" in the arguments of {where}: {culprit.how}.")
    yield Sentence("value", said, [basis], culprit.step, rows.run_id)
    if rows.origin is None:
        none = Basis("messages", {"run_id": rows.run_id}, is_there=False, contains=culprit.written)
        said = [Quote(culprit.value), " is found in no message on record: where it came from is not known."]
        yield Sentence("origin_unknown", said, [none], None, rows.run_id)
        return
    yield _origin(rows, culprit)
    yield from _documents(rows, culprit)


def _documents(rows: RunRows, culprit: Culprit) -> Iterator[Sentence]:
    """Yield the documents that hold what the argument has."""
    for row in rows.documents:
        reference, place, role = str(row["object"]), str(row["place"]), str(row["role"])
        which = "This document holds" if role == culprit.role else "One of several things that hold"
        key: dict[str, Value] = {
            "run_id": rows.run_id,
            "step": culprit.step,
            "object": reference,
            "place": place,
        }
        yield Sentence(
            "document",
            [f"{which} what the argument has: ", Quote(reference), ", at ", Quote(place), "."],
            [Basis("provenance_edges", key)],
            culprit.step,
            rows.run_id,
        )


def _origin(rows: RunRows, culprit: Culprit) -> Sentence:
    found = rows.origin
    assert found is not None
    call, role = whole(found, "model_call"), str(found["role"])
    if found["direction"] == "output":
        said = f" stands first in what the model answered in model call {call}: no message on record before that holds it."
    elif role == "tool":
        said = f" stands first in the result of a tool, which model call {call} was given as message {found['position']}."
    else:
        by = {"user": "the user", "assistant": "the model", "system": "the system"}.get(role, role)
        said = f" stands first in what {by} had said, message {found['position']} of what model call {call} was given."
    key: dict[str, Value] = {
        "run_id": rows.run_id,
        "model_call": call,
        "direction": str(found["direction"]),
        "position": whole(found, "position"),
    }
    basis = Basis("messages", key, contains=culprit.written)
    return Sentence("origin", [Quote(culprit.value), said], [basis], None, rows.run_id)


def _values(arguments: str | None) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers among the arguments, with where they stand."""
    if arguments is None:
        return
    try:
        found: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return
    waiting = deque[tuple[str, object]]([("", found)])
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        path, value = waiting.popleft()
        if isinstance(value, dict):
            # An argument has the name that it has, whatever signs are in it.
            inside = [(path_into(path, key) if path else key, each) for key, each in value.items()]
            waiting.extendleft(reversed(inside))
        elif isinstance(value, list):
            waiting.extendleft(reversed([(path_into(path, place), each) for place, each in enumerate(value)]))
        elif not isinstance(value, bool) and value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            if _SHORTEST <= len(text) <= _LONGEST:
                yield path, text


def _names(error: str, value: str) -> bool:
    """Return whether an error holds a value, and not only as a part of a longer word."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", error) is not None
