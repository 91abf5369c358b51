"""The queries that run now, and KILL QUERY for those of whoever asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from retrospan.ingest.access.tokens import Grant
from retrospan.ingest.answer.guard.lexer import tokens, written
from retrospan.ingest.answer.running import RunningQuery
from retrospan.ingest.http.messages import Request
from retrospan.ingest.warehouse.error_codes import ACCESS_DENIED
from retrospan.schemas.errors import SqlError
from retrospan.schemas.literals import literal

#: So much of a statement is told of a query: one with views put in place may be longer than a statement may be.
_TOLD_CHARACTERS = 2000
#: The form that clients send. Any other condition is refused by the guard, with every other KILL.
_KILL = re.compile(
    r"\s*KILL\s+QUERY\s+(?:ON\s+CLUSTER\s+\S+\s+)?WHERE\s+query_id\s*=\s*'([^'\\]{1,200})'"
    r"\s*(?:SYNC|(ASYNC)|(TEST))?\s*(FORMAT\s+\w+)?\s*;?\s*",
    re.IGNORECASE,
)
#: What is longer is not looked at: this is read where all requests wait.
_MOST_CHARACTERS = 1000
#: Perhaps behind a comment, which some clients put first.
_BEGINS_KILL = re.compile(r"\s*(?:KILL\b|--|/\*|#)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _About:
    query_id: str
    owner: Grant
    statement: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A KILL QUERY. With `is_test` nothing is stopped."""

    query_id: str
    is_test: bool
    format_clause: str


class RunningQueries:
    """Which queries run, by whom. Used by the loop of the port alone."""

    def __init__(self) -> None:
        self._running: dict[RunningQuery, _About] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[RunningQuery]:
        return iter([*self._running])

    def add(self, running: RunningQuery, query_id: str, owner: Grant, statement: str) -> None:
        """Note a query that has its place."""
        self._running[running] = _About(query_id, owner, statement[:_TOLD_CHARACTERS])

    def discard(self, running: RunningQuery) -> None:
        """Forget one that has ended."""
        self._running.pop(running, None)

    def kill(self, asked: Kill, owner: Grant) -> str:
        """Have the queries of an id stopped; return the SELECT that gives ClickHouse's answer: a row for each.

        Raises:
            SqlError: it is another's.
        """
        found = {
            running: about
            for running, about in self._running.items()
            # That another tenant asks something under an id is nothing to tell.
            if about.query_id == asked.query_id and about.owner.tenant == owner.tenant
        }
        if any(about.owner.name != owner.name for about in found.values()):
            raise SqlError(
                "this query was not started with your token, so you cannot stop it.", code=ACCESS_DENIED
            )
        for running in () if asked.is_test else found:
            running.stop("killed")
        told = [(about.query_id, about.owner.name, about.statement) for about in found.values()]
        rows = ", ".join(f"('waiting', {literal(i)}, {literal(o)}, {literal(s)})" for i, o, s in told)
        names = ("kill_status", "query_id", "user", "query")
        columns = ", ".join(f"tupleElement(row, {place}) AS {name}" for place, name in enumerate(names, 1))
        none = "('', '', '', '')"
        only = "" if told else " WHERE 0"
        return (
            f"SELECT {columns} FROM (SELECT arrayJoin([{rows or none}]) AS row){only} {asked.format_clause}"
        )


def kill_of(request: Request) -> Kill | None:
    """Return the KILL QUERY that a request asks for; None for anything else."""
    asked = request.query.get("query", "")
    text = asked if asked.strip() else request.body[:_MOST_CHARACTERS].decode(errors="replace")
    if len(text) >= _MOST_CHARACTERS or not _BEGINS_KILL.match(text):
        return None
    try:
        # Without its comments, as the lexer blanks them.
        found = _KILL.fullmatch(written(tokens(text)))
    except SqlError:
        return None  # the guard says what is wrong with it
    return None if found is None else Kill(found[1], bool(found[3]), found[4] or "")


def asking(request: Request, statement: str) -> Request:
    """Return the request with another statement."""
    return replace(request, query={**request.query, "query": statement}, body=b"")
