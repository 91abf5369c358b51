"""Flags and holds: marks that people set on a run, as records of the log, so that a rebuild keeps them.

A flag says that a run is worth keeping and overrides what the agent said. A hold forbids deletion until it is lifted or
expires; it can be extended but not shortened: it must be lifted instead, which the log shows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import cast

from retrospan.ingest.log.record import Note
from retrospan.ingest.retention.policy.announcing import PATIENCE_SECONDS, Gone, Witness
from retrospan.ingest.retention.policy.moments import text_of
from retrospan.ingest.retention.policy.pins import Pins
from retrospan.ingest.retention.receipts.receipts import Loading, NoteLog, require_loaded
from retrospan.ingest.retention.sql import load
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import BadRequest, NotFound, TooLate
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

_LONGEST_TEXT = 4000
#: The last nanosecond that a time can be.
LAST = 2**63 - 1
_KNOWN = {
    "flag": {"run": str, "tenant": str, "reason": str, "by": str, "remove": bool},
    "hold": {"run": str, "tenant": str, "reason": str, "by": str, "until": int, "lift": bool},
}


class Marks:
    """Writes marks, one command at a time."""

    def __init__(
        self,
        warehouse: Warehouse,
        log: NoteLog,
        loader: Loading,
        clock: Callable[[], int] = time.time_ns,
        *,
        log_number: int = 0,
        alone: bool = True,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        """`alone`: no other collector deletes from the warehouse. One that does is waited for, `patience` seconds at most."""
        self._warehouse = warehouse
        self._log = log
        self._loader = loader
        self._clock = clock
        self._log_number = log_number
        self._alone = alone
        self._patience = patience

    def flag(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Flag a run, or take the flag away (`remove`). Returns the state afterwards, once every view shows it.

        Raises:
            TooLate: another collector deleted the run meanwhile, or one that it rests on, or its word on the run counts.
        """
        told = _read("flag", arguments)
        run_ids, tenant = self._found(told)
        if told.get("remove"):
            return self._write("flag", tenant, run_ids, 0, told, is_set=False)
        return self._keep("flag", tenant, run_ids, 0, told)

    def hold(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Hold a run until a time (`until`, Unix ns; 0 is for ever), or lift the hold (`lift`).

        Raises:
            BadRequest: the hold that there is lasts longer.
            TooLate: another collector deleted the run meanwhile, or one that it rests on, or its word on the run counts.
        """
        told = _read("hold", arguments)
        run_ids, tenant = self._found(told)
        if told.get("lift"):
            return self._write("hold", tenant, run_ids, 0, told, is_set=False)
        until, now = cast(int, told.get("until", 0)), self._clock()
        if until > LAST:
            raise BadRequest(
                "hold: 'until' is after 2262, the latest possible time: leave it out to hold forever."
            )
        if until and until <= now:
            raise BadRequest("hold: 'until' is in the past; a hold begins now and ends later.")
        held, lasting = self._held(tenant, run_ids, now)
        run_id = run_ids[0]
        if held and until and (not lasting or until < lasting):
            rest = "for ever" if not lasting else "longer than that"
            raise BadRequest(
                f"run {run_id} is held {rest} already, and a hold cannot be shortened. Lift it first: "
                f"retrospan hold {run_id} --lift"
            )
        return self._keep("hold", tenant, run_ids, until, told)

    def _keep(
        self, mark: str, tenant: str, run_ids: Sequence[str], until: int, told: Mapping[str, object]
    ) -> dict[str, object]:
        """Write a mark that keeps a run; returns once no other collector can delete what it is to keep."""
        if self._alone:
            return self._write(mark, tenant, run_ids, until, told, is_set=True)
        with closing(self._warehouse.connect()) as store:
            witness = Witness(store, self._log_number)
            run_ids, tenant = self._found(told)  # again: from now on the witness sees what goes
            kept = Pins(store).rested_on(tenant, run_ids)
            state = self._write(mark, tenant, run_ids, until, told, is_set=True)
            if gone := witness.gone(tenant, kept, self._patience):
                raise TooLate(_too_late(mark, run_ids[0], gone))
        return state

    def _write(
        self,
        mark: str,
        tenant: str,
        run_ids: Sequence[str],
        until: int,
        told: Mapping[str, object],
        *,
        is_set: bool,
    ) -> dict[str, object]:
        """Write a mark; what is taken away is taken from every id that the run has.

        Raises:
            TooLate: another word on it is newer, by the clock of the collector that wrote that.
        """
        run_id = run_ids[0]
        said = {
            "set": is_set,
            "until": until,
            "reason": told.get("reason", ""),
            "by": told.get("by", ""),
        }
        notes = [
            Note(mark, json.dumps({"run_id": each, **said}).encode())
            for each in run_ids[: 1 if is_set else None]
        ]
        sequence = self._log.append(tenant=tenant, notes=notes)
        require_loaded(self._loader, sequence)
        self._require_counts(mark, tenant, run_ids[: 1 if is_set else None], is_set)
        return {"run": run_id, "tenant": tenant, "mark": mark, "set": is_set, "until": until or None}

    def _require_counts(self, mark: str, tenant: str, run_ids: Sequence[str], is_set: bool) -> None:
        """Refuse to say that a mark that was written counts if another one does."""
        with closing(self._warehouse.connect()) as store:
            rows = self._newest(store, mark, tenant, run_ids)
        for run_id, counts, _, said_at in rows:
            if bool(counts) != is_set:
                raise TooLate(
                    f"the {mark} of run {run_id} is on record, but a word that is newer by the clock of another collector "
                    f"counts: it was {'set' if counts else 'taken away'} at {text_of(said_at)}. Compare the clocks of "
                    "the collectors, and ask again when it is later than that."
                )

    @staticmethod
    def _newest(
        store: Store, mark: str, tenant: str, run_ids: Sequence[str]
    ) -> list[tuple[str, int, int, int]]:
        """Return the newest word on each id: whether it sets the mark, until when, and when it was said."""
        asked = {"tenant": tenant, "run_ids": run_ids, "mark": mark}
        return list(typed_rows(store, tuple[str, int, int, int], load("newest_marks"), asked))

    def _found(self, told: Mapping[str, object]) -> tuple[list[str], str]:
        """Return the ids that a run has, its own first, and its tenant."""
        run_id = cast(str, told["run"])
        with closing(self._warehouse.connect()) as store:
            rows = typed_rows(store, tuple[str, list[str]], load("owners_of_run"), {"run_id": run_id})
        owners = [(owner, aliases) for owner, aliases in rows if owner == told.get("tenant", owner)]
        if not owners:
            raise NotFound(f"there is no run {run_id!r}.")
        if len(owners) > 1:
            raise BadRequest(f"{len(owners)} tenants have a run {run_id!r}: name the tenant ('tenant').")
        tenant, aliases = owners[0]
        return [run_id, *aliases], tenant

    def _held(self, tenant: str, run_ids: Sequence[str], now: int) -> tuple[bool, int]:
        """Return whether it is held now, and until when (Unix ns, 0 for ever)."""
        with closing(self._warehouse.connect()) as store:
            rows = self._newest(store, "hold", tenant, run_ids)
        ends = [until for _, is_set, until, _ in rows if is_set and (not until or until > now)]
        return bool(ends), 0 if 0 in ends else max(ends, default=0)


def _too_late(mark: str, run_id: str, gone: Sequence[Gone]) -> str:
    """Say what another collector deleted before the mark could count."""
    first = next((each for each in gone if each.run_id == run_id), gone[0])
    what = "the payloads of " if first.what == "payloads" else ""
    whose = "run" if first.run_id == run_id else "what it rests on: run"
    more = f", and {len(gone) - 1:,} more such receipts" if len(gone) > 1 else ""
    return (
        f"the {mark} of run {run_id} is on record, but it came too late for {what}{whose} {first.run_id}: deleted at "
        f"{text_of(first.deleted_at)} by the collector of log {first.log} (receipt {first.number}{more}; see the view "
        "retention_log)."
    )


def _read(command: str, arguments: Mapping[str, object]) -> dict[str, object]:
    known = _KNOWN[command]
    for name, value in arguments.items():
        if name not in known:
            raise BadRequest(f"{command} does not take '{name}'. It takes: {', '.join(known)}.")
        # The id of a run is as long as its agent made it.
        is_long = isinstance(value, str) and name != "run" and len(value) > _LONGEST_TEXT
        if type(value) is not known[name] or is_long:
            raise BadRequest(f"{command}: '{name}' is {str(value)[:80]!r}: give {_WORDS[known[name]]}.")
    if not arguments.get("run"):
        raise BadRequest(f"{command} needs 'run', the id of a run.")
    return dict(arguments)


_WORDS = {str: "a text of at most 4,000 characters", bool: "true or false", int: "Unix nanoseconds"}
