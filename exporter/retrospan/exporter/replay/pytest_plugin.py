"""For pytest: `@pytest.mark.golden("refund")` and the fixture `replayed` run a test against a golden run, offline.

Loaded by every pytest in whose environment Retrospan is installed: the rest is imported by the first such test.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from retrospan.exporter.replay.session import Replay
    from retrospan.schemas.bundle.form import Bundle, RunRecord
    from retrospan.schemas.bundle.golden import Golden

#: The folder of golden runs, as a key of pytest's configuration and as a flag.
_INI, _FLAG = "golden_dir", "--golden-dir"
#: Flags of an update: whether, what may be reached beside models, and which tools may run whatever they do.
_UPDATE, _HOST, _RUN_TOOL = "--golden-update", "--golden-host", "--golden-run-tool"
#: Under this name the report of a test says what became of its golden run.
_UPDATED = "golden_updated"


class Replayed:
    """What a test with a golden run has at hand: the run as recorded, and what came of the replay so far."""

    def __init__(
        self, golden: Golden, bundle: Bundle, replay: Replay, folder: Path, is_update: bool, redaction: str
    ) -> None:
        run = bundle.run(golden.run_id)
        assert run is not None
        self.run = run
        self.question = run.question
        self._golden, self._bundle, self._replay, self._folder = golden, bundle, replay, folder
        self._redaction = redaction
        # Here, not in the cage: the engine is a process.
        self._unmet = [] if is_update else _unmet(golden, run)
        self.is_update, self.name = is_update, golden.name

    @property
    def report(self) -> str:
        """What was answered from the record, and where the agent left it."""
        return "\n".join(self._replay.report.lines())

    def problems(self) -> list[str]:
        """Return why the agent did not do the golden run again, line by line; empty if it did."""
        report = self._replay.report
        if self.is_update:
            return report.lines() if report.missed or report.refused else []
        is_same = report.verdict == "identical"
        return [*([] if is_same else report.lines()), *self._unmet]

    def update(self) -> tuple[list[str], list[str]]:
        """Put what the agent did now in the place of the golden run; return what changed, and why nothing could be put
        there.
        """
        from retrospan.schemas.bundle.changes import changes
        from retrospan.schemas.bundle.form import Bundle
        from retrospan.schemas.bundle.golden import write_golden

        now = self._replay.new_run()
        self._replay.end()
        told, updated = (
            changes(self.run, now),
            replace(self._golden.updated(now.run_id), redaction=self._redaction),
        )
        unmet = _unmet(updated, now)
        if not now.calls:
            unmet.append("the agent made no call")
        if told and not unmet:
            made = Bundle(made_by=self._bundle.made_by, rules=self._bundle.rules, runs=(now,))
            write_golden(self._folder, updated, made)
        return told, [f"the golden run {self._golden.name} is not updated: {why}" for why in unmet]


def _unmet(golden: Golden, run: RunRecord) -> list[str]:
    from retrospan.schemas.bundle.sql_expectation import unmet_offline

    return [*golden.unmet(run), *unmet_offline([(run, golden.expect_sql)])[0]]


_REPLAYED = pytest.StashKey[Replayed]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where golden runs are."""
    said = "the folder of golden runs of Retrospan"
    parser.addini(_INI, said, default="golden")
    group = parser.getgroup("retrospan")
    group.addoption(_FLAG, default=None, metavar="DIR", help=f"{said} ({_INI})")
    group.addoption(
        _UPDATE,
        action="store_true",
        help="put what agents do now in the place of their golden runs: what is not on record is really asked",
    )
    for flag, metavar, what in (
        (_HOST, "HOST", "a host that may be reached beside models"),
        (_RUN_TOOL, "NAME", "a tool that may run, whatever it does"),
    ):
        group.addoption(flag, action="append", default=[], metavar=metavar, help=f"in an update: {what}")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    said = 'golden(name): run against this golden run, with the fixture "replayed"'
    config.addinivalue_line("markers", said)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test that names a golden run and is not put into its cage: its agent would really ask, and really act."""
    if item.get_closest_marker("golden") is not None and "replayed" not in getattr(item, "fixturenames", ()):
        pytest.fail(
            '@pytest.mark.golden goes with the fixture "replayed": let the test take it', pytrace=False
        )


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
        folder = folder_of(request.config)
        golden, bundle = read_golden(folder, marker.args[0])
    except RetrospanError as error:
        pytest.fail(str(error), pytrace=False)
    try:
        option = request.config.getoption
        is_update = bool(option(_UPDATE))
        hosts, live_tools = (
            cast("list[str]", option(flag)) if is_update else [] for flag in (_HOST, _RUN_TOOL)
        )
        redaction = _redaction(golden, bundle, is_update)
        session = replay(
            bundle,
            run=golden.run_id,
            tools=golden.tools,
            mode="update" if is_update else "strict",
            hosts=hosts,
            live_tools=[*golden.run_tools, *live_tools],
            redaction=redaction,
        )
        given = Replayed(golden, bundle, session, folder, is_update, redaction)
    except RetrospanError as error:
        pytest.fail(str(error), pytrace=False)
    request.node.stash[_REPLAYED] = given
    try:
        with session:
            yield given
    except ReplayMiss:
        # The test has failed for it, with the reason.
        pass


def _redaction(golden: Golden, bundle: Bundle, is_update: bool) -> str:
    """Return what is taken out of requests; of an update of what an earlier release wrote, what the run looks like."""
    run = bundle.run(golden.run_id)
    if golden.redaction is not None or run is None or not is_update:
        return golden.redaction or "off"
    from retrospan.exporter.replay.redacting import rules_of

    return rules_of(run)


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
    if given is not None and given.is_update:
        told, problems = given.update()
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)
        pyfuncitem.user_properties.append((_UPDATED, "\n".join([given.name, *told])))
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which golden runs are others now, and what changed in each."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    found = [
        str(text).split("\n")
        for report in reports
        if report.when == "call"
        for name, text in report.user_properties
        if name == _UPDATED
    ]
    if not found:
        return
    terminalreporter.section("golden runs")
    for name, *told in sorted(found):
        terminalreporter.line(f"{name}: {'is another one now' if told else 'nothing changed'}")
        for line in told:
            terminalreporter.line(f"  {line}")
