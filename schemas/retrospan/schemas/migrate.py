"""Brings the tables of a warehouse to what this release needs. Called by the loader at start and by `migrate`.

Migrations are the numbered `.sql` files beside this module: one statement each, append-only, forward-only. Each
is noted in `schema_migrations` as running before the first statement and as applied after the last. A crash in
between leaves them running, and the next start runs them again: every statement can be run twice. One that lays out a
table anew can be as long as no later one has added a column, so those up to it are noted as applied when it has ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources

from retrospan.schemas.engines import PLAIN, Form
from retrospan.schemas.errors import SchemaTooNew
from retrospan.schemas.store import Store

DATABASE = "retrospan"

_CREATE_STATE = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    number UInt32,
    name String,
    state LowCardinality(String),
    version UInt64,
    statement_hash String,
    changed_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(version)
ORDER BY number
"""

_NOTE_STATES = """
INSERT INTO schema_migrations (number, name, state, version, statement_hash)
SELECT noted.1, noted.2, {state:String}, noted.3, noted.4
FROM
(
    SELECT arrayJoin(arrayZip(
        {numbers:Array(UInt32)}, {names:Array(String)}, {versions:Array(UInt64)}, {hashes:Array(String)})) AS noted
)
"""

_READ_STATES = "SELECT number, name, state, version FROM schema_migrations FINAL ORDER BY number"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered statement. `state` is pending, running (begun, not known to have ended) or applied."""

    number: int
    name: str
    statement: str
    state: str
    version: int

    @property
    def statement_hash(self) -> str:
        return sha256(self.statement.encode()).hexdigest()


#: A table that is replaced by one with the same rows.
LAID_OUT_ANEW = re.compile(r"CREATE OR REPLACE TABLE (\w+)")
#: What a view selects that is told to select the same again, and the migration that made it.
_SELECTS = re.compile(r"^-- select: (\w+)$", re.MULTILINE)


def shipped() -> list[tuple[int, str, str]]:
    """Return the migrations of this release in order: (number, file name without suffix, statement)."""
    texts = {
        entry.name.removesuffix(".sql"): entry.read_text("utf-8")
        for entry in resources.files("retrospan.schemas").joinpath("migrations").iterdir()
        if entry.name.endswith(".sql")
    }
    for name, text in texts.items():
        if found := _SELECTS.search(text):
            texts[name] = text + texts[found[1]].partition(" AS\n")[2]
    return sorted((int(name[:4]), name, text) for name, text in texts.items())


class Migrations:
    """The migrations of this release, against one warehouse."""

    def __init__(
        self, store: Store, files: Sequence[tuple[int, str, str]] | None = None, form: Form = PLAIN
    ) -> None:
        """`form` is how tables are made in this warehouse."""
        self._store = store
        self._files = shipped() if files is None else list(files)
        self._form = form

    def pending(self) -> list[Migration]:
        """Return what `apply` would run, in order. Raises SchemaTooNew when a later release has been here."""
        return [migration for migration in self._all() if migration.state != "applied"]

    def applied(self) -> list[Migration]:
        """Return what has been run to its end."""
        return [migration for migration in self._all() if migration.state == "applied"]

    def apply(self, dry_run: bool = False) -> list[Migration]:
        """Run what is pending, in order, and return it. With `dry_run` only return it.

        Raises SchemaTooNew, with nothing written, when the warehouse knows a migration that is not in this
        release; SqlError when a statement fails, which leaves it marked running.
        """
        pending = self.pending()
        if dry_run or not pending:
            return pending
        for statement in self._form.shaped(_CREATE_STATE):
            self._store.command(statement)
        # Noted all at once: a note for each takes as long as the statements themselves.
        self._note(pending, "running", 1)
        done = noted = 0
        try:
            for migration in pending:
                for statement in self._form.shaped(migration.statement):
                    self._store.command(statement)
                done += 1
                if LAID_OUT_ANEW.search(migration.statement):
                    self._note(pending[noted:done], "applied", 2)
                    noted = done
        finally:
            self._note(pending[noted:done], "applied", 2)
        return pending

    def _note(self, migrations: Sequence[Migration], state: str, later: int) -> None:
        """Note a state of migrations; `later` is by how much it is newer than what was read of them."""
        if not migrations:
            return
        self._store.command(
            _NOTE_STATES,
            {
                "numbers": [migration.number for migration in migrations],
                "names": [migration.name for migration in migrations],
                "versions": [migration.version + later for migration in migrations],
                "hashes": [migration.statement_hash for migration in migrations],
                "state": state,
            },
        )

    def _all(self) -> list[Migration]:
        states = self._states()
        known = {number for number, _, _ in self._files}
        unknown = [name for number, (name, _, _) in states.items() if number not in known]
        if unknown:
            raise SchemaTooNew(
                f"The warehouse has migration {unknown[-1]}, which this release does not know. "
                "Nothing was changed. Use the release that wrote it, or a later one."
            )
        return [
            Migration(number, name, statement, *states.get(number, ("", "pending", 0))[1:])
            for number, name, statement in self._files
        ]

    def _states(self) -> dict[int, tuple[str, str, int]]:
        exists = self._store.rows("EXISTS TABLE schema_migrations")
        if not exists or not exists[0][0]:
            return {}
        states: dict[int, tuple[str, str, int]] = {}
        for number, name, state, version in self._store.rows(_READ_STATES):
            states[int(str(number))] = (str(name), str(state), int(str(version)))
        return states
