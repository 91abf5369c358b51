"""Whether a run is what a golden run is held to: whole, and as expected, by the warehouse and by its bundle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from retrospan.ingest.cli.client.arriving import NOT_ENDED
from retrospan.ingest.cli.client.session import Session
from retrospan.schemas.bundle.form import RunRecord
from retrospan.schemas.bundle.golden import Golden, read_golden
from retrospan.schemas.bundle.sql_expectation import unmet_by, unmet_offline
from retrospan.schemas.errors import PermanentError

_FORMAT = "JSONCompactEachRow"


def require_met(golden: Golden, found: RunRecord, session: Session | None = None) -> None:
    """Refuse a run whose end is not on record, that cannot be replayed whole, or that does not meet what is expected.

    `session` is of the warehouse that it is from.
    """
    if found.incomplete_because == NOT_ENDED:
        raise PermanentError(
            f"run {found.run_id} has not ended, or its end is not on record: the agent would have to stop where the record does. "
            "Keep it once it has ended, or keep another run."
        )
    missing = [call for call in found.calls if not call.replayable]
    if missing:
        raise PermanentError(
            f"run {found.run_id} cannot be replayed whole: {missing[0].reason}. "
            f"`retrospan bundle {found.run_id} --check` lists what is missing."
        )
    unmet = golden.unmet(found)
    if session is not None:
        for text in golden.expect_sql:
            why = unmet_by(_answer(session, text, found.run_id))
            unmet += [f"{text}: {why}"] if why is not None else []
    if session is None or find_spec("chdb") is not None:
        # Here as well: golden run will ask what the files hold.
        (offline,) = unmet_offline([(found, golden.expect_sql)])
        unmet += [each for each in offline if each not in unmet]
    if unmet:
        raise PermanentError(f"run {found.run_id} does not meet what is expected: {'; '.join(unmet)}.")


def _answer(session: Session, statement: str, run_id: str) -> list[list[object]]:
    body, form = session.warehouse.fetch(statement, _FORMAT, {"run": run_id})
    if form != _FORMAT:
        raise PermanentError(f"{statement}: leave out FORMAT {form}.")
    return [json.loads(line) for line in body.splitlines()]


def unmet_in_sql(folder: Path, names: Sequence[str]) -> list[list[str]]:
    """Return which expectations in SQL each golden run does not meet. One process answers for all."""
    asked = list[tuple[RunRecord, Sequence[str]]]()
    for name in names:
        golden, bundle = read_golden(folder, name)
        found = bundle.run(golden.run_id)
        assert found is not None
        asked.append((found, golden.expect_sql))
    return unmet_offline(asked)
