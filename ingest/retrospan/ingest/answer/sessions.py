"""SET and USE, as ClickHouse's clients send them: they last for a `session_id`, or else for the one request.

Only what a reader may set in the address of a request can be set here, so a session can do nothing that a single
request could not. A session belongs to the token that it was made with. Sessions are bounded in number and age.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from retrospan.ingest.answer.guard.allowlist import OPEN_DATABASES, settable
from retrospan.ingest.answer.guard.clauses import UNKNOWN_SETTING, check_value
from retrospan.ingest.answer.guard.guard import READONLY, UNKNOWN_DATABASE
from retrospan.ingest.answer.guard.lexer import SYNTAX_ERROR, Token, tokens
from retrospan.ingest.http.messages import Request
from retrospan.schemas.errors import SqlError

SESSION_NOT_FOUND = 372
MOST_SESSIONS = 1000
#: As in ClickHouse: so long after the last request, unless `session_timeout` asks for less or more.
SESSION_SECONDS = 60.0
MOST_SESSION_SECONDS = 3600.0
_LONGEST_ID = 200
#: No more than there are settings that may be set.
_MOST_SETTINGS = 200
#: A longer text is a question.
_LONGEST_STATEMENT = 10_000


@dataclass(slots=True)
class _Session:
    ends_at: float
    said: dict[str, str] = field(default_factory=dict[str, str])
    """As in the address of a request: settings, and `database`."""


class Sessions:
    """What was said by SET and USE, by token and session. Used by the loop of the port alone."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._sessions: dict[tuple[str, str], _Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def told(self, request: Request, owner: str) -> Request | None:
        """Return the request with what its session says; None for a SET or USE, which is noted.

        Raises:
            SqlError: a SET or USE is not open to readers, a `session_check` finds no session, an id is too long.
        """
        session = self._session(request, owner)
        said = _said(request)
        if said is not None:
            if session is not None:
                if len({*session.said, *said}) > _MOST_SETTINGS:
                    raise SqlError(
                        f"a session holds at most {_MOST_SETTINGS} settings.", code=UNKNOWN_SETTING
                    )
                session.said |= said
            return None
        if session is None or not session.said:
            return request
        return replace(request, query={**session.said, **request.query})

    def _session(self, request: Request, owner: str) -> _Session | None:
        name = request.query.get("session_id", "")
        if not name:
            return None
        if len(name) > _LONGEST_ID:
            raise SqlError(f"a session_id has at most {_LONGEST_ID} characters.", code=SESSION_NOT_FOUND)
        now = self._now()
        key = (owner, name)
        # Kept in the order of their last use.
        found = self._sessions.pop(key, None)
        if found is not None and found.ends_at <= now:
            found = None
        if found is None and request.query.get("session_check") == "1":
            raise SqlError(f"there is no session {name[:60]!r}.", code=SESSION_NOT_FOUND)
        found = found or _Session(now)
        found.ends_at = now + _seconds(request.query)
        self._sessions[key] = found
        for old in [each for each, session in self._sessions.items() if session.ends_at <= now]:
            del self._sessions[old]
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return found


def _seconds(query: Mapping[str, str]) -> float:
    text = query.get("session_timeout", "")
    return min(float(text), MOST_SESSION_SECONDS) if text.isdecimal() and len(text) < 10 else SESSION_SECONDS


def _said(request: Request) -> dict[str, str] | None:
    """Return what a SET or USE says; None for every other statement."""
    asked = request.query.get("query", "")
    text = asked if asked.strip() else request.body[: _LONGEST_STATEMENT + 1].decode(errors="replace")
    head = text.lstrip()[:4].upper()
    if not head.startswith(("SET", "USE")) or len(text) > _LONGEST_STATEMENT:
        return None
    if asked.strip() and request.body.strip():
        return None  # both together are one statement: the guard says what it is
    words = [token for token in tokens(text) if token.kind != "blank" and not token.is_mark(";")]
    if words[0].is_word("use"):
        return _used(words[1:])
    return _set(words[1:]) if words[0].is_word("set") else None


def _used(words: list[Token]) -> dict[str, str]:
    words = words[1:] if len(words) == 2 and words[0].is_word("database") else words
    if len(words) != 1 or words[0].kind not in ("word", "name"):
        raise SqlError("USE takes the name of one database. Write USE retrospan.", code=SYNTAX_ERROR)
    name = words[0].value
    if name.casefold() not in OPEN_DATABASES | {"default"}:
        raise SqlError(f"there is no database {name[:60]}. Use retrospan.", code=UNKNOWN_DATABASE)
    return {"database": name}


def _set(words: list[Token]) -> dict[str, str]:
    """Return the settings of `a = 1, b = 'x'`."""
    said: dict[str, str] = {}
    at = 0
    while True:
        name, equals, value = (
            words[at + offset] if at + offset < len(words) else None for offset in range(3)
        )
        plain = (
            name is not None and name.kind in ("word", "name") and equals is not None and equals.is_mark("=")
        )
        if not plain or value is None or value.kind not in ("word", "string", "number"):
            raise SqlError("SET takes a list of `name = value`. Write SET final = 1.", code=SYNTAX_ERROR)
        assert name is not None
        if not settable(name.folded):
            raise SqlError(
                f"8123 is read-only: {name.text[:60]} cannot be set. Settings that say how an answer is written can, "
                "and limits can be lowered: system.settings shows which.",
                code=READONLY,
            )
        if "\\" in value.value:
            raise SqlError(f"the value of {name.text} may not contain a backslash.", code=UNKNOWN_SETTING)
        check_value(name.text, value.value)
        said[name.folded] = value.value
        at += 3
        if at == len(words):
            return said
        if not words[at].is_mark(","):
            raise SqlError("SET takes a list of `name = value`. Write SET final = 1.", code=SYNTAX_ERROR)
        at += 1
