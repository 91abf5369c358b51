"""A request to the SQL port: one statement that may be executed, and everything that it is executed with.

The engine gets exactly what the guard checked last: views are inlined and conditions narrowed first, and the guard
checks the statement again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from retrospan.ingest.answer import native
from retrospan.ingest.answer.computed.given_rows import COMPUTED, given_rows
from retrospan.ingest.answer.computed.lookups import TooMuch
from retrospan.ingest.answer.formats import checked_format
from retrospan.ingest.answer.guard.allowlist import DATABASE, LOWERED, Allowlist, harmless
from retrospan.ingest.answer.guard.clauses import check_value
from retrospan.ingest.answer.guard.guard import UNKNOWN_PARAMETER, CheckedStatement, Guard
from retrospan.ingest.answer.guard.lexer import SYNTAX_ERROR
from retrospan.ingest.answer.known_statements import KnownStatements, Reading
from retrospan.ingest.answer.readers import HELPFUL, READERS, bounded, bounds
from retrospan.ingest.answer.rewriting.databases import qualified, unqualified
from retrospan.ingest.answer.rewriting.entity_first import entity_first
from retrospan.ingest.answer.rewriting.inlining import PlacedCall, inlined, own_functions, placed
from retrospan.ingest.answer.rewriting.join_sides import KEPT, keeping_sides
from retrospan.ingest.answer.rewriting.lean_views import lean
from retrospan.ingest.answer.rewriting.listing import listed, require_parameters
from retrospan.ingest.answer.rewriting.long_lists import LONG_LIST, reading
from retrospan.ingest.answer.rewriting.narrowing import depends_on_values, narrowed
from retrospan.ingest.answer.rewriting.runs_first import runs_first
from retrospan.ingest.http.messages import Request
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import QUERY_TOO_LARGE, SqlError
from retrospan.schemas.store import Escaped, Parameters, Store

#: As in ClickHouse: a word, which may begin with a digit or a `$` too. One of digits alone is a number there.
_PARAMETER = re.compile(r"(?![0-9]+$)(?!\$$)[A-Za-z0-9_$]{1,120}")


CANNOT_PARSE_NUMBER = 72
_SECONDS = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
#: A parameter of this type is a name: which one decides whether a statement may be executed.
_IDENTIFIER = "identifier"

#: Bytes that the engine reads of a statement. What is put into one repeats its values, and may grow beyond that.
_LONGEST_READ = 262_144

#: Settings under which what a question needs is looked up.
_BOUNDS = ("max_execution_time", "max_memory_usage", "max_threads", "max_block_size")


@dataclass(frozen=True, slots=True)
class Question:
    """A query that may be run, with everything that it is run with."""

    statement: CheckedStatement
    parameters: Mapping[str, Escaped]
    output_format: str
    settings: Mapping[str, str | int]
    is_hello: bool
    calls: Sequence[PlacedCall] = ()
    """Views whose rows the statement takes as parameters."""
    without_rows: Callable[[], CheckedStatement] | None = None
    """Returns the same statement with the views' SELECTs in place of these parameters. Raises SqlError."""
    as_asked: CheckedStatement | None = None
    """The statement as the guard let it through, before views were put in place; None where that changed nothing."""

    @property
    def bounds(self) -> Mapping[str, str | int]:
        """The settings that bound what the engine may take, and none that changes what a statement means."""
        return {**{name: self.settings[name] for name in _BOUNDS}, **READERS}


class Understanding:
    """Reads questions, from any thread, by what the engine and the installed views offer."""

    def __init__(self, warehouse: Warehouse, limits: Limits, refused: Callable[[], None]) -> None:
        """`refused` is called for each question that the guard refuses."""
        self._warehouse = warehouse
        self._limits = limits
        self._refused = refused
        self._guard: Guard | None = None
        self._known: frozenset[str] = frozenset()
        self._known_statements = KnownStatements()
        self._learning = threading.Lock()
        self.version = ""
        """The engine's."""

    def learn(self) -> None:
        """Read the engine's functions and the installed views again; call it after views changed.

        Raises:
            WarehouseUnavailable: the engine does not answer.
        """
        with closing(self._warehouse.connect()) as store:
            version = str(store.rows("SELECT version()")[0][0])
            known = store.rows(
                "SELECT name FROM system.settings WHERE name IN {names:Array(String)}",
                {"names": [*HELPFUL, *LONG_LIST, *KEPT]},
            )
            self._known = frozenset(str(name) for (name,) in known)
            self._guard, self.version = Guard(Allowlist.read(store)), version
            # After the guard: what was read by the former one is remembered in what nobody looks into any more.
            self._known_statements = KnownStatements()

    def prepare(self) -> None:
        """Learn where nothing was learned yet."""
        with self._learning:
            if self._guard is None:
                self.learn()

    def understood(self, request: Request, *, shows_internals: bool = False) -> Question | None:
        """Return what is asked; None for nothing at all. Raises SqlError for what may not be.

        With `shows_internals` the engine's catalogue is read as it is where the address says `internals=1`.
        """
        sql = self._sql(request)
        if not sql.strip() and not request.body:
            return None
        database = request.query.get("database") or request.headers.get("x-clickhouse-database") or DATABASE
        parameters = _parameters(request.query)
        read = self._read(
            sql, database, parameters, shows_internals and request.query.get("internals") == "1"
        )
        statement = read.executed
        output_format = checked_format(
            statement.output_format
            or request.query.get("default_format")
            or request.headers.get("x-clickhouse-format")
            or "TabSeparated"
        )
        says_hello = (
            output_format == "Native"
            and "client_protocol_version" in request.query
            and native.is_hello(statement.sql)
        )
        return Question(
            statement,
            parameters,
            output_format,
            self._settings(read, request.query),
            says_hello,
            read.calls,
            lambda: self._executed(read.checked, inlined(unqualified(read.checked.sql)), parameters),
            read.checked if read.checked.sql != statement.sql else None,
        )

    def _read(self, sql: str, database: str, parameters: Mapping[str, str], shows_internals: bool) -> Reading:
        """Return what a statement is read as, once for each. Raises SqlError for what may not be asked."""
        known = self._known_statements
        keys = [
            (sql, database, shows_internals, frozenset[object](told))
            for told in (parameters, parameters.items())
        ]
        for key in keys:
            if (read := known.find(key)) is not None:
                return read
        read, by_values = self._read_anew(qualified(sql, database), parameters, shows_internals)
        known.add(keys[by_values], read)
        return read

    def _read_anew(
        self, sql: str, parameters: Mapping[str, str], shows_internals: bool
    ) -> tuple[Reading, bool]:
        """Return what a statement is read as, and whether that depends on the values of its parameters."""
        checked = self._checked(sql, parameters)
        settings = {**reading(checked.sql), **keeping_sides(checked.sql)}
        require_parameters(checked.sql, self._views)
        shown = checked.sql if shows_internals else listed(checked.sql, self._views)
        if not shows_internals:
            checked = self._checked_again(checked, shown, parameters)
        read = reading_less(unqualified(checked.sql))
        text, calls = placed(read, COMPUTED)
        if any(call.parameter in parameters for call in calls):
            text, calls = inlined(read), []
        by_values = any(
            depends_on_values(each) or _IDENTIFIER in each.casefold() for each in (sql, shown, text)
        )
        executed = self._executed(checked, text, parameters)
        return Reading(checked, executed, calls if executed is not checked else [], settings), by_values

    @property
    def _views(self) -> Mapping[str, Sequence[str]]:
        assert self._guard is not None, "no query is read before the engine was learned from"
        return self._guard.allowlist.views

    def _sql(self, request: Request) -> str:
        """Return the statement: `query` of the URL, then the body.

        A body that cannot be read is most often the data of an INSERT: the guard then judges what can be read,
        so that the client hears that 8123 is read-only.
        """
        asked = request.query.get("query", "")
        first = asked or request.body.partition(b"\n")[0].decode(errors="replace")
        if first.lstrip()[:6].upper() == "INSERT":
            self._checked(first)  # refused; what follows may be data
        try:
            body = request.body.decode()
        except UnicodeDecodeError as error:
            self._checked(first)
            raise SqlError("the query is not UTF-8.", code=SYNTAX_ERROR) from error
        if request.overlong:
            self._checked(asked or "SELECT")
            raise SqlError(
                f"a query may have at most {self._limits.query_text_bytes:,} bytes.", code=QUERY_TOO_LARGE
            )
        return f"{asked}\n{body}" if asked and body else asked or body

    def _executed(
        self, statement: CheckedStatement, text: str, parameters: Mapping[str, str]
    ) -> CheckedStatement:
        """Return the statement as the engine gets it: what the guard let through last, views put in place before.

        Where that is longer than the engine reads, it gets the statement itself.
        """
        text = narrowed(text, parameters)
        if len(text.encode()) > _LONGEST_READ:
            return statement
        return self._checked_again(statement, text, parameters)

    def _checked_again(
        self, statement: CheckedStatement, text: str, parameters: Mapping[str, str]
    ) -> CheckedStatement:
        """Return the statement with another text, which the guard judges. Raises SqlError for what may not be."""
        if text == statement.sql:
            return statement
        return replace(statement, sql=self._checked(text, parameters, own_functions()).sql)

    def _checked(
        self, sql: str, parameters: Mapping[str, str] | None = None, own: Container[str] = ()
    ) -> CheckedStatement:
        assert self._guard is not None, "no query is read before the engine was learned from"
        try:
            return self._guard.check(sql, parameters, own)
        except SqlError:
            self._refused()
            raise

    def _settings(self, read: Reading, url: Mapping[str, str]) -> dict[str, str | int]:
        """Return what helps or the reader's harmless settings, then our limits or lower ones, then readonly."""
        most = bounds(self._limits)
        helpful = {**HELPFUL, **read.settings}
        asked = {name: str(value) for name, value in helpful.items() if name in self._known}
        asked |= {name: value for name, value in url.items() if harmless(name) or name in LOWERED}
        asked |= {name: str(value) for name, value in read.executed.settings.items()}
        chosen: dict[str, str | int] = {}
        for name, value in asked.items():
            check_value(name, value)
            if name not in LOWERED:
                chosen[name] = int(value) if value.isdecimal() else value
            elif (limit := _limit(name, value)) > 0:
                # 0 means without limit in ClickHouse: it lifts nothing here.
                most[name] = min(limit, most.get(name, limit))
        return {**chosen, **bounded(most)}


def _limit(name: str, value: str) -> float:
    """Return a limit that was asked for; 0 for none. Raises SqlError where it cannot be kept, since it is not a number."""
    if value.isdecimal():
        return int(value)
    if not value or (name == "max_execution_time" and _SECONDS.fullmatch(value)):
        return float(value or 0)
    raise SqlError(f"{value[:60]!r} is not a number that {name} can be.", code=CANNOT_PARSE_NUMBER)


def reading_less(sql: str) -> str:
    """Return a statement with those views in place of which it reads a part only. Its views are without their database."""
    return entity_first(lean(runs_first(sql)))


def _parameters(url: Mapping[str, str]) -> dict[str, Escaped]:
    """Return the values for `{name:Type}`, from the address. Raises SqlError for what is not a name."""
    found: dict[str, Escaped] = {}
    for key, value in url.items():
        if key.startswith("param_"):
            name = key.removeprefix("param_")
            if not _PARAMETER.fullmatch(name):
                raise SqlError(f"{name[:60]!r} is not a parameter name.", code=UNKNOWN_PARAMETER)
            found[name] = Escaped(value)
    return found


def with_rows(store: Store, question: Question) -> tuple[CheckedStatement, Parameters]:
    """Return what to execute: with the rows of its computed views as parameters, where they can be."""
    if not question.calls or question.without_rows is None:
        return question.statement, question.parameters
    store.keep(question.bounds)
    try:
        rows = given_rows(store, question.calls, question.parameters)
    except TooMuch:
        # The views themselves answer, within the engine's limits.
        return question.without_rows(), question.parameters
    return question.statement, {**question.parameters, **rows}
