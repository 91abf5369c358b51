"""For pytest: `@pytest.mark.golden("refund")` and the fixture `replayed` run a test against a golden run, offline.

Loaded by every pytest in whose environment Retrospan is installed: the rest is imported by the first such test.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from retrospan.exporter.replay.session import Replay
    from retrospan.schemas.bundle.form import RunRecord

#: The folder of golden runs, as a key of pytest's configuration and as a flag.
_INI, _FLAG = "golden_dir", "--golden-dir"


class Replayed:
    """What a test with a golden run has at hand: the run as recorded, and what came of the replay so far."""

    def __init__(self, run: RunRecord, replay: Replay, unmet: list[str]) -> None:
        self.run = run
        self.question = run.question
        self._replay, self._unmet = replay, unmet

    @property
    def report(self) -> str:
        """What was answered from the record, and where the agent left it."""
        return "\n".join(self._replay.report.lines())

    def problems(self) -> list[str]:
        """Return why the agent did not do the golden run again, line by line; empty if it did."""
        is_same = self._replay.report.verdict == "identical"
        return [*([] if is_same else self._replay.report.lines()), *self._unmet]


_REPLAYED = pytest.StashKey[Replayed]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where golden runs are."""
    said = "the folder of golden runs of Retrospan"
    parser.addini(_INI, said, default="golden")
    parser.getgroup("retrospan").addoption(_FLAG, default=None, metavar="DIR", help=f"{said} ({_INI})")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    said = 'golden(name): run against this golden run, with the fixture "replayed"'
    config.addinivalue_line("markers", said)


def folder_of(config: pytest.Config) -> Path:
    """Return the folder of golden runs: as the flag says, else the configuration; beside its file."""
    chosen = config.getoption(_FLAG)
    return Path(chosen) if chosen is not None else config.rootpath / str(config.getini(_INI))


@pytest.fixture
def replayed(request: pytest.FixtureRequest) -> Generator[Replayed]:
    """Answer every model call and tool call of the test from the golden run that its marker names."""
    from retrospan.exporter.replay.session import replay
    from retrospan.schemas.bundle.golden import read_golden
    from retrospan.schemas.errors import ReplayMiss, RetrospanError

    marker = request.node.get_closest_marker("golden")
    if marker is None or len(marker.args) != 1 or not isinstance(marker.args[0], str):
        pytest.fail('name the golden run: @pytest.mark.golden("NAME")', pytrace=False)
    try:
        golden, bundle = read_golden(folder_of(request.config), marker.args[0])
    except RetrospanError as error:
        pytest.fail(str(error), pytrace=False)
    run = bundle.run(golden.run_id)
    assert run is not None
    session = replay(bundle, run=golden.run_id, tools=golden.tools)
    given = Replayed(run, session, golden.unmet(run))
    request.node.stash[_REPLAYED] = given
    try:
        with session:
            yield given
    except ReplayMiss:
        # The test has failed for it, with the reason.
        pass


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test whose agent left the record or stopped before its end, whatever the test itself found."""
    given = pyfuncitem.stash.get(_REPLAYED, None)
    try:
        result = yield
    except Exception as error:
        if given is not None and (problems := given.problems()):
            error.add_note("\n".join(problems))
        raise
    if given is not None and (problems := given.problems()):
        pytest.fail("\n".join(problems), pytrace=False)
    return result
