"""The SQL views: what each file's header says, the order to create them in, and their installation.

One `.sql` file is one view. Its header is the only description there is: the documentation is made from it, and
a test compares it with what ClickHouse says. Lines of a header:

    -- title: one line
    -- params: name Type, name Type        (or `none`)
    -- returns:
    --   column Type: meaning
    -- note: a sentence                     (any number)
    -- example: SELECT …                    (any number; `{name:String}` stands for a value of the reader's)

Standard library only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from retrospan.schemas.engines import PLAIN, Form
from retrospan.schemas.errors import NotFound, PermanentError
from retrospan.schemas.store import Store

_FIELD = re.compile(r"^-- (title|params|returns|note|example):\s*(.*)$")
_COLUMN = re.compile(r"^--   (\w+) (\S.*?): (\S.*)$")
_READ_COMMENTS = (
    "SELECT name, comment FROM system.tables WHERE database = currentDatabase() AND engine = 'View'"
)
_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")


class HeaderError(PermanentError):
    """A `.sql` file whose header cannot be read. The message names the file and the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view as its file describes it. `statement` is the SELECT without the header."""

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    examples: tuple[str, ...]
    statement: str

    @property
    def sources(self) -> frozenset[str]:
        """Every name that the statement reads from: tables, views, and its own common table expressions."""
        return frozenset(_SOURCE.findall(_without_comments(self.statement)))

    @property
    def definition(self) -> str:
        """Return the statement that creates it."""
        comment = _quoted(self.comment)
        return f"CREATE OR REPLACE VIEW {self.name}\n(\n{self._columns}\n)\nAS\n{self.statement}\nCOMMENT {comment}"

    @property
    def comment(self) -> str:
        """What ClickHouse shows beside the view: its title, and which version of the definition it is."""
        return f"{self.title} [{sha256((self._columns + self.statement).encode()).hexdigest()[:12]}]"

    @property
    def _columns(self) -> str:
        """The columns with their meanings, as ClickHouse's clients show them."""
        return ",\n".join(
            f"    `{column.name}` {column.type} COMMENT {_quoted(column.meaning)}" for column in self.columns
        )


def read_view(name: str, text: str) -> View:
    """Read one `.sql` file.

    Raises:
        HeaderError: a line of the header is not one of those above, or the title or the columns are missing.
    """
    lines = text.splitlines()
    size = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    single: dict[str, str] = {}
    repeated: dict[str, list[str]] = {"note": [], "example": []}
    columns: list[Column] = []
    for number, line in enumerate(lines[:size], start=1):
        if column := _COLUMN.match(line):
            columns.append(Column(name=column[1], type=column[2], meaning=column[3]))
        elif (found := _FIELD.match(line)) and found[1] in repeated:
            repeated[found[1]].append(found[2])
        elif found and found[1] not in single:
            single[found[1]] = found[2]
        else:
            raise HeaderError(f"{name}.sql, line {number}: not a line of a header: {line!r}")
    if not single.get("title") or not single.get("params") or not columns:
        raise HeaderError(f"{name}.sql: the header needs a title, params and the columns it returns")
    return View(
        name=name,
        title=single["title"],
        parameters=_parameters(single["params"]),
        columns=tuple(columns),
        notes=tuple(repeated["note"]),
        examples=tuple(repeated["example"]),
        statement="\n".join(lines[size:]).strip(),
    )


@cache
def views() -> tuple[View, ...]:
    """Return every view, each after the views it reads from; otherwise by name."""
    folder = files("retrospan.queries") / "views"
    found = {
        entry.name.removesuffix(".sql"): read_view(entry.name.removesuffix(".sql"), entry.read_text("utf-8"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".sql")
    }
    ordered: dict[str, View] = {}

    def place(view: View) -> None:
        for source in sorted(view.sources & found.keys() - {view.name}):
            if source not in ordered:
                place(found[source])
        ordered.setdefault(view.name, view)

    for view in found.values():
        place(view)
    return tuple(ordered.values())


def load(name: str) -> View:
    """Return the view of that name.

    Raises:
        NotFound: there is none.
    """
    for view in views():
        if view.name == name:
            return view
    raise NotFound(f"there is no view {name!r}; there are {', '.join(sorted(view.name for view in views()))}")


def install(store: Store, form: Form = PLAIN, *, anew: bool = False) -> None:
    """Create every view in the store's database, replacing those of an earlier release. The tables must exist.

    Safe to repeat, and safe while readers query: each view is replaced as a whole. Its comment is its title and a hash
    of how it was made. A single server's view that is there just so is left as it is, unless all are to be made `anew`;
    elsewhere a replica may lack it. `form` is how tables are made there.
    """
    comments = (
        {} if form.replicated or anew else {str(name): str(said) for name, said in store.rows(_READ_COMMENTS)}
    )
    for view in views():
        if comments.get(view.name) == view.comment:
            continue
        for statement in form.shaped(view.definition):
            store.command(statement)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _parameters(text: str) -> tuple[Parameter, ...]:
    if text == "none":
        return ()
    pairs = (part.split() for part in text.split(","))
    return tuple(Parameter(name=name, type=type_) for name, type_ in pairs)


def _without_comments(statement: str) -> str:
    return re.sub(r"--[^\n]*", "", statement)
