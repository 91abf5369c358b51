"""The rows that recordings give, whole and damaged, kept as one hash for each table: nothing changes in them unseen.

    cd tests && python -m recordings.kept_rows             # keep what the rules give now
    cd tests && python -m recordings.kept_rows --out DIR   # write the rows themselves, to compare two commits by diff -r

A change of a rule that is meant to change rows keeps them anew; the commit shows which recordings it reached.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path

from fix_recordings import OTHERS, Recording, load_recording, manifest, taken
from recordings.crossed import crossed
from recordings.damaged import damaged, stated
from spans import rows_of_spans, spans_of_requests

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.rules.ruleset import Ruleset

RULES = Ruleset.read(Path(__file__).parents[1] / "rules/records.toml")
KEPT = Path(__file__).with_name("kept_rows.tsv")
#: Each recording is damaged so many times: of each hundred attributes, so many are lost.
DAMAGED = (5, 12, 12, 40)
#: How many runs are made up.
STATED = 400
#: Changes with every version of the rules.
_LEFT_OUT = ("interpreted_by",)
_TABLES = tuple(field.name for field in fields(Rows))


def tables_of(spans: Sequence[Span]) -> dict[str, list[str]]:
    """Return the rows of the runs in some spans as JSON, by table; tables without rows are left out."""
    found: dict[str, list[str]] = {}
    for rows in rows_of_spans(spans, RULES):
        for table in _TABLES:
            found.setdefault(table, []).extend(
                json.dumps(
                    {
                        each.name: getattr(row, each.name)
                        for each in fields(row)
                        if each.name not in _LEFT_OUT
                    },
                    default=str,
                )
                for row in getattr(rows, table)
            )
    return {table: lines for table, lines in found.items() if lines}


def hashes_of(spans: Sequence[Span]) -> dict[str, str]:
    """Return the number of rows and their hash, by table."""
    return {table: f"{len(lines)}:{_hash(lines)}" for table, lines in tables_of(spans).items()}


def cases() -> dict[str, Callable[[], list[Span]]]:
    """Return what rows are kept of, by name: every recording but those that are held back, whole and damaged, runs that
    are made up, and those of the file that cross two of them."""
    found: dict[str, Callable[[], list[Span]]] = {}
    whole = {name: load_recording(name) for name in sorted(manifest())} | taken() | taken(OTHERS)
    for name, recording in whole.items():
        found[name] = partial(spans_of_requests, recording.traces, recording.logs)
        for number in range(1, len(DAMAGED) + 1):
            found[f"{name}~{number}"] = partial(_damaged, recording, number)
    for number in range(1, STATED + 1):
        found[f"stated~{number}"] = partial(stated, str(number))
    for name in kept():
        if "+" in name:
            own, _, other = name.rpartition("~")[0].partition("+")
            found[name] = partial(_crossed, found[own], found[other], name)
    return found


def _crossed(own: Callable[[], list[Span]], other: Callable[[], list[Span]], seed: str) -> list[Span]:
    return crossed(own(), other(), seed)


def _damaged(recording: Recording, number: int) -> list[Span]:
    return damaged(
        spans_of_requests(recording.traces, recording.logs), f"{recording.name}~{number}", DAMAGED[number - 1]
    )


@cache
def kept() -> dict[str, dict[str, str]]:
    """Return what is kept: recording → table → number and hash."""
    found: dict[str, dict[str, str]] = {}
    for line in KEPT.read_text(encoding="utf-8").splitlines():
        name, *tables = line.split("\t")
        found[name] = dict(table.split("=", 1) for table in tables)
    return found


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m recordings.kept_rows", description=__doc__)
    parser.add_argument("--out", type=Path, help="write the rows themselves into this directory")
    out: Path | None = parser.parse_args().out
    lines = []
    for name, spans in cases().items():
        if out is None:
            lines.append("\t".join([name, *("=".join(each) for each in hashes_of(spans()).items())]))
        else:
            file = out / f"{name}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            tables = tables_of(spans())
            file.write_text("".join(f"{table} {row}\n" for table in tables for row in tables[table]))
    if out is None:
        KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
