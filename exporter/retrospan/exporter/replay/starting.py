"""The replay of a whole process: it begins with the interpreter, by a variable, and writes its report to a file."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from retrospan.exporter.replay.descent import Descent, mark_runs
from retrospan.schemas.errors import PermanentError, RetrospanError

if TYPE_CHECKING:
    from retrospan.exporter.replay.conditions import Edits
    from retrospan.exporter.replay.session import Replay

#: JSON of how to replay; see `variables`.
VARIABLE = "RETROSPAN_REPLAY"
_PATH = "PYTHONPATH"
#: The key of a report that says why no replay began, and of one that is there before the agent is.
_TROUBLE, _BEGUN = "trouble", "begun"
_FOLDER = Path(__file__).parent / "at_start"


def variables(
    environ: Mapping[str, str], how: Mapping[str, object], report: Path, descent: Descent | None
) -> dict[str, str]:
    """Return the variables by which the interpreters of a command begin a replay.

    `how` holds the arguments of `replay`, with `source` and `edits` as they are; `report` is the file that the report
    is written to.
    """
    edits = cast("Edits | None", how.get("edits"))
    told = {
        **how,
        "edits": None if edits is None else _told(edits),
        "report": str(report),
        "descent": None if descent is None else descent.told(),
    }
    path = [str(_FOLDER), *_roots(), *filter(None, environ.get(_PATH, "").split(os.pathsep))]
    return {VARIABLE: json.dumps(told), _PATH: os.pathsep.join(path)}


def _told(edits: Edits) -> dict[str, object]:
    return {
        "prompt": edits.prompt,
        "answer": edits.answer,
        "result": edits.result,
        "has_result": edits.has_result,
        "request": dict(edits.request),
        "state": dict(edits.state),
    }


def _roots() -> list[str]:
    """Return where the agent's Python finds this package, where it is not among packages of another Python's."""
    import retrospan.schemas

    here = Path(__file__).parents[3]
    roots = {str(here), *(str(Path(place).parents[1]) for place in retrospan.schemas.__path__)}
    return sorted(root for root in roots if {each.name for each in Path(root).iterdir()} <= {"retrospan"})


def begin(folder: str) -> None:
    """Begin the replay that the variable tells, for as long as the process lives; do nothing without it."""
    told = os.environ.pop(VARIABLE, None)
    before = os.environ.get(_PATH, "")
    kept = [entry for entry in before.split(os.pathsep) if entry and os.path.abspath(entry) != folder]
    # A program that is started from here is not in the cage: it was named.
    os.environ[_PATH] = os.pathsep.join(kept)
    if told is None:
        return
    how = cast("dict[str, Any]", json.loads(told))
    report, descent = Path(how.pop("report")), how.pop("descent")
    edits, record_to, thread = how.pop("edits"), how.pop("record_to", None), how.pop("thread", None)
    # Whoever starts the command needs nothing of it.
    from retrospan.exporter.replay.conditions import Edits
    from retrospan.exporter.replay.session import replay

    try:
        session = replay(how.pop("source"), edits=Edits(**edits) if edits else None, **how)
        session.__enter__()
    except RetrospanError as error:
        # The interpreter would go on, and let the agent loose.
        _put(report, {_TROUBLE: str(error)})
        os._exit(2)
    session.guard.variables = {VARIABLE: told, _PATH: before}
    if descent:
        mark_runs(Descent(**descent))
    if thread is not None:
        # Here: few forks change the state of a graph.
        from retrospan.exporter.replay.threads import install

        install(Path(thread), session.replaying)
    _put(report, {_BEGUN: True})
    atexit.register(_end, session, report, record_to, os.getpid())
    session.when_missed(lambda: _write(session, report))
    _tell_before_exit(session, report, record_to)


def _tell_before_exit(session: Replay, report: Path, record_to: str | None) -> None:
    """Tell what came of it where the agent ends its process without the interpreter's end, too."""
    leave, process = os._exit, os.getpid()

    def tell_and_leave(status: int) -> NoReturn:
        try:
            _end(session, report, record_to, process)
        finally:
            leave(status)

    os._exit = tell_and_leave


def _end(session: Replay, report: Path, record_to: str | None, process: int) -> None:
    if os.getpid() != process:
        # A fork of the agent's process: its own end is not that of the agent.
        return
    if record_to is not None:
        from retrospan.schemas.bundle.container import write_bundle
        from retrospan.schemas.bundle.form import Bundle

        write_bundle(record_to, Bundle(made_by="", rules=None, runs=(session.new_run(),)))
    _write(session, report)
    session.end()


def _write(session: Replay, report: Path) -> None:
    _put(report, {**session.report.as_json(), "lines": session.report.lines()})


def _put(report: Path, found: Mapping[str, object]) -> None:
    half = report.with_name(f"{report.name}.{os.getpid()}")
    half.write_text(json.dumps(found), encoding="utf-8")
    os.replace(half, report)


def read_report(report: Path) -> tuple[dict[str, object], Sequence[str]] | None:
    """Return the report and its lines; None where no interpreter wrote one. Raises PermanentError where one could not
    begin the replay.
    """
    try:
        found = cast("dict[str, Any]", json.loads(report.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    if _TROUBLE in found:
        raise PermanentError(found[_TROUBLE])
    if _BEGUN in found:
        raise PermanentError(
            "the agent's process was killed before it could tell what came of the replay: nothing is known of what it did."
        )
    return found, cast("list[str]", found.pop("lines"))
