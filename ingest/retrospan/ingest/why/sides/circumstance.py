"""What was changed between two sides: values of one part and one name that became more frequent, and less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.why.sentence import Quote, Row
from retrospan.ingest.why.sides.rows import Place, SideRows

#: How a part is called in a sentence, before the name of whose it is. Those of a setup are changed by somebody; the
#: others are what came in.
SETUPS = {
    "system_prompt": "the system prompt of agent ",
    "prompt_version": "the version of prompt ",
    "model": "the model asked for by agent ",
    "answering_model": "the model that answers agent ",
    "provider": "the provider of agent ",
    "parameters": "the parameters of agent ",
    "tool_definitions": "the definitions of tools of agent ",
    "tool_result": "the result of an equal call of ",
    "document": "the version of ",
    "environment": "the environment",
}
VERSIONS = {"agent_version": "the version of agent ", "service_version": "the version of service "}
#: How it is called where nothing says whose it is.
_UNNAMED = {
    "system_prompt": "the system prompt",
    "prompt_version": "the version of the prompt",
    "model": "the model asked for",
    "answering_model": "the model that answers",
    "provider": "the provider",
    "parameters": "the parameters",
    "tool_definitions": "the definitions of tools",
    "tool_result": "the result of an equal call of a tool without a name",
    "agent_version": "the version of the agent",
    "service_version": "the version of the service",
}
INPUTS = {
    "agent": "runs of agent ",
    "service": "runs of service ",
    "user": "runs for user ",
    "input_length": "runs whose input has ",
    "tool": "runs that call ",
}


@dataclass(frozen=True, slots=True)
class Change:
    """The values of one part and name that changed their share of the runs, the largest shift first."""

    part: str
    name: str
    gained: Sequence[Row]
    lost: Sequence[Row]

    @property
    def shift(self) -> float:
        """Return by how much the share of one value changed at most, of 1."""
        return max(abs(shift_of(row)) for row in (*self.gained, *self.lost))

    @property
    def called(self) -> list[str | Quote]:
        """Return what was changed, as words of a sentence."""
        if self.part == "document" and not self.name:
            return ["the documents used"]
        words = {**SETUPS, **VERSIONS}[self.part]
        # Of a call the hash of its arguments follows the tool.
        name = self.name.rpartition(" ")[0] if self.part == "tool_result" else self.name
        return [words, Quote(name)] if name else [_UNNAMED.get(self.part, words)]

    @property
    def was(self) -> str:
        is_many = self.part in ("parameters", "tool_definitions") or (
            self.part == "document" and not self.name
        )
        return "were" if is_many else "was"

    def places(self) -> tuple[Place | None, Place | None]:
        """Return where the value stands that most had before, and the one that most have now."""
        before = max(self.lost, key=lambda row: number_of(row, "baseline_runs"), default=None)
        now = max(self.gained, key=lambda row: number_of(row, "candidate_runs"), default=None)
        return place_of(before), place_of(now)


def changes(rows: SideRows) -> list[Change]:
    """Return what changed, the largest shifts first; prompts before what may follow from them."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows.circumstances:
        if row["changed"]:
            found.setdefault((str(row["part"]), str(row["name"])), []).append(row)
    all_of_them = [
        Change(
            part,
            name,
            sorted((row for row in values if shift_of(row) > 0), key=shift_of, reverse=True),
            sorted((row for row in values if shift_of(row) < 0), key=shift_of),
        )
        for (part, name), values in found.items()
    ]
    order = [*SETUPS, *VERSIONS, *INPUTS]
    return sorted(all_of_them, key=lambda change: (-round(change.shift, 1), order.index(change.part)))


def varying(rows: SideRows, part: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield the names whose values of a part are nearly as many as runs, with the rows: a text that holds a date."""
    found: dict[str, list[Row]] = {}
    for row in rows.circumstances:
        if row["part"] == part and not row["changed"]:
            found.setdefault(str(row["name"]), []).append(row)
    for name, values in found.items():
        seldom = [row for row in values if runs_of(row) * 4 < number_of(row, "baseline_n")]
        if len(seldom) > 3 and len(seldom) * 2 > len(values):
            yield name, seldom


def shift_of(row: Row) -> float:
    """Return by how much the share of the runs that had it grew, from -1 to 1."""
    baseline, candidate = number_of(row, "baseline_n"), number_of(row, "candidate_n")
    if not baseline or not candidate:
        return 0.0
    return number_of(row, "candidate_runs") / candidate - number_of(row, "baseline_runs") / baseline


def place_of(row: Row | None) -> Place | None:
    """Return in which call the value stands."""
    if row is None or not isinstance(row["found_call"], int):
        return None
    return str(row["found_in"]), row["found_call"]


def runs_of(row: Row) -> int:
    return number_of(row, "baseline_runs") + number_of(row, "candidate_runs")


def number_of(row: Row, name: str) -> int:
    value = row[name]
    return value if isinstance(value, int) else 0
