"""`rebuild`: every row derived from the log again, or only the runs that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from retrospan.ingest.answer.admin import Report
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.selection import EVERYTHING, Selection
from retrospan.ingest.load.checking import detached_parts, drop_detached
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.segmented import SegmentedLog
from retrospan.ingest.open_warehouse import OpenWarehouse
from retrospan.ingest.retention.deletion.retention import Retention
from retrospan.ingest.settings.config import Role
from retrospan.schemas.errors import ConfigError, SegmentUnreadable

_MOST_NAMED = 3


class Rebuilding:
    """One command at a time; the caller sees to that."""

    def __init__(
        self,
        opened: OpenWarehouse,
        log: SegmentedLog,
        loader: Loader,
        interpreter: Interpreter,
        retention: Retention,
        role: Role,
    ) -> None:
        self._opened = opened
        self._log = log
        self._loader = loader
        self._interpreter = interpreter
        self._retention = retention
        self._role = role

    def rebuild(self, arguments: Mapping[str, object], report: Report) -> None:
        """Derive every row from the log again: tables that are missing, raw rows, runs; or only some runs.

        Raises SegmentUnreadable when a file of the log is gone. If that was so before, nothing is changed.
        """
        selection = Selection.of(arguments)
        if selection != EVERYTHING:
            report({"traces": self._reinterpret(selection, report)})
            return
        self._require_files()
        self._opened.prepare()
        put_aside = self._put_aside()
        records = self._log.durable_sequence
        report({"phase": "loading", "done": 0, "total": records, "unit": "records"})
        self._loader.reload_all(
            lambda done, total: report({"phase": "loading", "done": done, "total": total, "unit": "records"})
        )
        # What was deleted came back with the records that still hold it.
        self._retention.finish(report)
        told = {"records": records}
        if absent := self._log.absent_records():
            told = {"records": records - absent, "absent": absent}
        if self._role == "receive":
            # Which runs there are is for those who interpret: `rebuild`, asked of one of them, reads all again.
            report(told)
            return
        traces = self._reinterpret(selection, report)
        self._let_go(put_aside)
        self._loader.missing_rows()
        report({**told, "traces": traces})

    def _require_files(self) -> None:
        """Refuse while a file is gone: it would stop the loading half-way, and with it that of what comes in."""
        gone = self._log.missing()
        if not gone:
            return
        records = sum(segment.last - segment.first + 1 for segment in gone)
        named = ", ".join(segment.place for segment in gone[:_MOST_NAMED])
        more = f" and {len(gone) - _MOST_NAMED:,} more" if len(gone) > _MOST_NAMED else ""
        raise SegmentUnreadable(
            f"{named}{more} {'is' if len(gone) == 1 else 'are'} missing from the log, with {records:,} records, of which "
            "the tables hold what there is. Nothing was changed. Put back from a backup what is missing; or restart the "
            "collector, which counts these records as lost, and rebuild then: their rows stay as they are"
        )

    def _reinterpret(self, selection: Selection, report: Report) -> int:
        """Read runs again from the raw rows; return how many traces there were."""
        if self._role == "receive":
            raise ConfigError("this collector only receives (--role receive): use one that interprets.")
        return self._interpreter.rebuild(
            lambda done, total: report(
                {"phase": "interpreting", "done": done, "total": total, "unit": "traces"}
            ),
            selection,
        )

    def _put_aside(self) -> list[tuple[str, str]]:
        """Broken parts of the tables, which a rebuild makes superfluous; those of a shared server are its owner's."""
        if self._opened.shared:
            return []
        with closing(self._opened.connect()) as store:
            return detached_parts(store)

    def _let_go(self, parts: list[tuple[str, str]]) -> None:
        with closing(self._opened.connect()) as store:
            drop_detached(store, parts)
