"""The rows that the recordings give, kept as one hash for each table: nothing changes in them unseen.

    cd tests && python -m recordings.kept_rows             # keep what the rules give now
    cd tests && python -m recordings.kept_rows --out DIR   # write the rows themselves, to compare two commits by diff -r

A change of a rule that is meant to change rows keeps them anew; the commit shows which recordings it reached.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from fix_recordings import OTHERS, Recording, load_recording, manifest, taken
from spans import rows_of_recording

from retrospan.ingest.interpret.rows.rows import Rows

KEPT = Path(__file__).with_name("kept_rows.tsv")
#: Changes with every version of the rules.
_LEFT_OUT = ("interpreted_by",)
_TABLES = tuple(field.name for field in fields(Rows))


def tables_of(recording: Recording) -> dict[str, list[str]]:
    """Return the rows of a recording's runs as JSON, by table; tables without rows are left out."""
    found: dict[str, list[str]] = {}
    for rows in rows_of_recording(recording):
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


def hashes_of(recording: Recording) -> dict[str, str]:
    """Return the number of rows and their hash, by table."""
    return {table: f"{len(lines)}:{_hash(lines)}" for table, lines in tables_of(recording).items()}


def kept() -> dict[str, dict[str, str]]:
    """Return what is kept: recording → table → number and hash."""
    found: dict[str, dict[str, str]] = {}
    for line in KEPT.read_text(encoding="utf-8").splitlines():
        name, *tables = line.split("\t")
        found[name] = dict(table.split("=", 1) for table in tables)
    return found


def recordings() -> Iterator[Recording]:
    """Yield every recording but those that are held back, by name."""
    yield from (load_recording(name) for name in sorted(manifest()))
    yield from taken().values()
    yield from taken(OTHERS).values()


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m recordings.kept_rows", description=__doc__)
    parser.add_argument("--out", type=Path, help="write the rows themselves into this directory")
    out: Path | None = parser.parse_args().out
    lines = []
    for recording in recordings():
        if out is None:
            lines.append(
                "\t".join([recording.name, *("=".join(each) for each in hashes_of(recording).items())])
            )
        else:
            file = out / f"{recording.name}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            tables = tables_of(recording)
            file.write_text("".join(f"{table} {row}\n" for table in tables for row in tables[table]))
    if out is None:
        KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
