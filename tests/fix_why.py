"""Recordings behind a SQL port, what `why` says of them, and whether the rows that it rests on are there."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from retrospan.ingest.cli.client.collector_client import CollectorClient, Parameter
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.moments import Zone
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.views.why_rows import Gathering
from retrospan.ingest.why.report import report_of
from retrospan.ingest.why.sentence import Basis, Report

HERE = Path(__file__).parent
#: What was written down of each recording with a fault, before `why` was.
EXPECTED = HERE / "why/expected"


@dataclass(frozen=True)
class Recorded:
    """A SQL port over recordings, and which runs came of which."""

    url: str
    runs: Mapping[str, Sequence[str]]

    def why(self, name: str, against: str | None = None) -> Report:
        """Return the report on the last run of a recording: a fault is in that."""
        return report_of(Gathering(session_of(self.url), self.runs[name][-1], against).rows())

    def told(self, run_id: str, against: str | None = None) -> Mapping[str, Sequence[str]]:
        """Return the texts of the sentences on a run by their kind, in their order. Each stands on rows that are there."""
        session = session_of(self.url)
        found: dict[str, list[str]] = {}
        report = report_of(Gathering(session, run_id, against).rows())
        for sentence in (each for part in report.chapters for each in part.sentences):
            found.setdefault(sentence.kind, []).append(sentence.text())
            assert all(stands(session, basis) for basis in sentence.rests_on), sentence
        return found


def session_of(url: str) -> Session:
    """Return a session that asks for everything."""
    arguments = argparse.Namespace(full=True, json=True, color="never", wide=True, utc=True)
    screen = Screen(sys.stdout, sys.stderr)
    return Session(arguments, screen, CollectorClient(url, "of the test"), Zone(True))


@contextmanager
def serving_recordings(directory: Path, names: Sequence[str]) -> Iterator[Recorded]:
    """A process that serves recordings, those of frameworks by their name."""
    command = [sys.executable, str(HERE / "serve_recordings.py"), str(directory), *names]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        port, _, runs = process.stdout.readline().partition(" ")
        assert port.isdigit(), "the warehouse of the recordings did not start"
        yield Recorded(f"http://127.0.0.1:{port}", json.loads(runs))
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.fixture(scope="session")
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The recordings of the frameworks that the tests of `why` in this process name."""
    ours = [item for item in request.session.items if item.path.parent == EXPECTED.parent]
    cases = [getattr(item, "callspec", None) for item in ours]
    named = [str(case.params.get("name", "")) for case in cases if case is not None]
    frameworks = {name.partition("/")[0] for name in named if (EXPECTED / f"{name}.toml").exists()}
    directory = tmp_path_factory.mktemp("recorded")
    with serving_recordings(
        directory, sorted(frameworks | {"langgraph-openinference", "openai-agents"})
    ) as found:
        yield found


def stands(session: Session, basis: Basis) -> bool:
    """Return whether the rows that a sentence rests on are there, or are not, as it says."""
    conditions: list[str] = []
    values: dict[str, Parameter] = dict(basis.given)
    for place, (column, value) in enumerate(basis.where.items()):
        if value is None:
            conditions.append(f"isNull({column})")
        elif isinstance(value, bool):
            conditions.append(f"{column} = {str(value).lower()}")
        else:
            kind = "String" if isinstance(value, str) else "Int64"
            conditions.append(f"{column} = {{p{place}:{kind}}}")
            values[f"p{place}"] = value
    if basis.contains:
        conditions.append("position(content, {contains:String}) > 0")
        values["contains"] = basis.contains
    given = ", ".join(f"{name} = {{{name}:String}}" for name in basis.given)
    view = f"{basis.view}({given})" if given else basis.view
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    (row,) = session.warehouse.ask(f"SELECT count() AS found FROM {view}{where}", values).rows
    return bool(row["found"]) == basis.is_there
