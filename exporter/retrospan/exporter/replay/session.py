"""`with replay("file.bundle") as r:` confines an agent to its record until the block ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from retrospan.exporter.replay import current, tools, transports
from retrospan.exporter.replay.conditions import Conditions, Edits, Mode
from retrospan.exporter.replay.guard import Guard
from retrospan.exporter.replay.redacting import redactor
from retrospan.exporter.replay.replaying import Replaying
from retrospan.exporter.replay.report import Report
from retrospan.exporter.replay.tools import functions
from retrospan.schemas.bundle.container import read_bundle
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.errors import ConfigError, NotFound


class Replay:
    """A replay as a context manager; what `replay(...)` returns."""

    def __init__(self, runs: Sequence[RunRecord], replaying: Replaying, named_tools: Sequence[str]) -> None:
        self._runs, self.replaying, self._named_tools = runs, replaying, named_tools
        self.guard = Guard(replaying)
        self._looked_for: frozenset[str] = frozenset()

    @property
    def report(self) -> Report:
        """What came of it so far."""
        return self.replaying.report

    def __enter__(self) -> Self:
        current.begin(self.replaying, self.guard)
        try:
            transports.install()
            tools.install()
            functions.install(self._named_tools)
            self.replaying.before_answers = partial(functions.install_of_program, self._named_tools)
            self.replaying.look_for = self._look_for
            self.guard.begin()
        except BaseException:
            current.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the replay. Raises the miss that stopped it, whatever became of it in the agent."""
        self.end()
        miss = self.replaying.miss
        if miss is not None and error is not miss and (error is None or isinstance(error, Exception)):
            raise miss from error

    def _look_for(self, names: frozenset[str]) -> None:
        report = self.replaying.report
        report.never_loaded = functions.never_loaded(self._named_tools)
        if names != self._looked_for:
            self._looked_for, report.places = names, functions.places_of(names)

    def end(self) -> None:
        """Let the process out again; what came of it stays in the report."""
        self.replaying.settle()
        self.guard.end()
        current.end()

    def new_run(self) -> RunRecord:
        """Return the record of what the agent did now, in the mode update. Raises ConfigError in any other, and for
        several runs.
        """
        if self.replaying.conditions.mode != "update" or len(self._runs) != 1:
            raise ConfigError("a new record is made in the mode 'update', of one run.")
        return self.replaying.new_run(self._runs[0])

    def when_missed(self, call: Callable[[], object]) -> None:
        """Call once when a miss ends the replay, before the agent gets to know."""
        self.replaying.on_miss = call


def replay(
    source: str | os.PathLike[str] | Bundle,
    *,
    run: str | None = None,
    mode: Mode = "strict",
    until: int | None = None,
    edits: Edits | None = None,
    hosts: Iterable[str] = (),
    processes: Iterable[str] = (),
    tools: Sequence[str] = (),
    live_tools: Iterable[str] = (),
    redaction: str = "off",
) -> Replay:
    """Run an agent against its record: `with replay("file.bundle") as r:`.

    Args:
        source: A bundle, or its file.
        run: Which run of the bundle; by default all of them, one after the other, as the turns of a conversation are.
        mode: `strict` answers everything from the record, and stops at the first call that it does not hold; `until` does so up to a step, after
            which calls go out; `shadow` lets every model call out and compares; `edit` is `until` with `edits`; `update` asks really for what
            the record does not hold, and makes a new record of all of it.
        until: The first step that is not answered from the record.
        edits: What is changed from there on.
        hosts: Hosts that may be reached whatever is recorded.
        processes: Programs that may be started; `fork` lets the process fork.
        tools: Plain functions that are tools, as `module:function`, where the decorator `tool` does not say so.
        live_tools: Tools that may run, whatever they do to the world.
        redaction: What is taken out of requests before they are compared, as `redaction` of `instrument`: `off`, `secrets`, `all` or a file.

    Raises ConfigError for what does not go together, and what `read_bundle` raises.
    """
    bundle = source if isinstance(source, Bundle) else read_bundle(source)
    conditions = Conditions(
        mode=mode,
        until=until,
        edits=edits or Edits(),
        hosts=frozenset(hosts),
        processes=frozenset(processes),
        live_tools=frozenset(live_tools),
        redaction=redaction,
    )
    runs = _runs(bundle, run)
    conditions.check_reach(runs)
    return Replay(runs, Replaying(runs, conditions, redactor(redaction)), tuple(tools))


def _runs(bundle: Bundle, wanted: str | None) -> tuple[RunRecord, ...]:
    if wanted is None:
        return bundle.runs
    found = bundle.run(wanted)
    if found is None:
        runs = ", ".join(run.run_id for run in bundle.runs) or "none"
        raise NotFound(f"the bundle holds no run {wanted}; it holds {runs}.")
    return (found,)
