"""The values of an alert rule or target, each read from its table. A value that makes no sense there raises `BadKey`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from retrospan.ingest.answer.guard.lexer import tokens, where
from retrospan.schemas.errors import SqlError

#: The columns by which rows are in a window, the first that a view has: when something was last heard of it,
#: when it happened, when it arrived.
TIMES = (
    *("last_said_at", "at", "ended_at", "started_at", "read_at"),
    *("known_from", "arrived_at", "ingested_at", "loaded_at", "deleted_at"),
)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_TEXT = 8000
_MOST_WORDS = 64


class BadKey(ValueError):
    """A key of one rule or target cannot be used."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


def text(table: Mapping[str, object], key: str, default: str | None = None) -> str:
    """Return a text; without a default it is needed."""
    value = table.get(key, default)
    if value is None:
        raise BadKey(key, f"{key} is needed")
    if not isinstance(value, str) or (not value.strip() and default is None) or "\0" in value:
        raise BadKey(key, f"{value!r} is not a text")
    if len(value) > _LONGEST_TEXT:
        raise BadKey(key, f"longer than {_LONGEST_TEXT:,} characters")
    return value


def name_of(table: Mapping[str, object], key: str) -> str:
    """Return a name."""
    value = text(table, key)
    if not _NAME.fullmatch(value):
        raise BadKey(key, f"{value!r} has characters other than letters, digits and _.-, or more than 64")
    return value


def names(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return a list of texts with at least one entry, each once."""
    value = table.get(key)
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
        raise BadKey(key, f'{value!r} is not a list of names, such as {key} = ["…"]')
    return tuple(dict.fromkeys(cast("list[str]", value)))


def duration(
    table: Mapping[str, object], key: str, least: float, most: float, default: str | None = None
) -> float:
    """Return seconds."""
    value = table.get(key, default)
    if value is None:
        raise BadKey(key, f"{key} is needed, such as {key} = '15m'")
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise BadKey(key, f"{value!r} is not a duration such as 90s, 15m, 1h or 7d")
    seconds = float(found[1]) * _UNITS[found[2]]
    if not least <= seconds <= most:
        raise BadKey(key, f"{value!r} is not between {least:g} s and {most / _UNITS['d']:g} d")
    return seconds


def duration_text(seconds: float) -> str:
    """Return seconds as a duration is written."""
    unit = next(unit for unit in ("d", "h", "m", "s") if unit == "s" or not seconds % _UNITS[unit])
    return f"{seconds / _UNITS[unit]:g}{unit}"


def flag(table: Mapping[str, object], key: str) -> bool:
    """Return true or false, by default false."""
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise BadKey(key, f"{value!r} is not true or false")
    return value


def path(table: Mapping[str, object], key: str) -> Path:
    """Return the path of a file."""
    return Path(text(table, key)).expanduser()


def program(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return the words of a command: no shell reads them, and no directories are searched for the first."""
    value = table[key]
    if isinstance(value, str):
        raise BadKey(
            key, f'write its words as a list: no shell reads them: {key} = ["/path/to/program", "…"]'
        )
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        raise BadKey(key, f"{value!r} is not a list of words")
    told = tuple(cast("list[str]", value))
    if not told[0].startswith("/"):
        raise BadKey(key, f"{told[0]!r} is not an absolute path of a program")
    if len(told) > _MOST_WORDS or any("\0" in word or len(word) > _LONGEST_TEXT for word in told):
        raise BadKey(key, "too many words, one that is too long, or one with a NUL")
    return told


def url(table: Mapping[str, object], key: str, allow_private: bool) -> str:
    """Return the address of a webhook."""
    value = text(table, key)
    if reason := fault_of_url(value, allow_private):
        raise BadKey(key, reason)
    return value


def fault_of_url(value: str, allow_private: bool) -> str:
    """Return why an address cannot be posted to; '' when it can. The address, which may be secret, is not told."""
    if re.search(r"[^\x21-\x7e]", value):
        return "the address has spaces, control characters or characters that are not ASCII"
    parts = urlsplit(value)
    try:
        port = parts.port
    except ValueError:
        return "the address has a port that is not a number up to 65535"
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        return "not an address such as https://hooks.example/path"
    if parts.username is not None:
        return "the address has a user in it: sign with secret_file, or use url_file for a secret address"
    if parts.scheme == "http" and not allow_private:
        return "plain HTTP can be read on the way: use https, or set allow_private = true within your own network"
    return ""


def expression(table: Mapping[str, object], key: str, default: str) -> str:
    """Return a SQL expression that stays within the brackets it is put in, without comments.

    What else it may say, the guard judges when it is asked.
    """
    value = text(table, key, default)
    try:
        found = tokens(value)
    except SqlError as error:
        raise BadKey(key, str(error).rstrip(".")) from error
    depth = 0
    for token in found:
        depth += token.is_mark("(") - token.is_mark(")")
        if depth < 0 or token.is_mark(";"):
            raise BadKey(key, f"{token.text!r} at {where(value, token.position)} ends the expression")
    if depth:
        raise BadKey(key, f"{depth} brackets are not closed")
    cleaned = "".join(token.text for token in found).strip()
    if not cleaned:
        raise BadKey(key, "empty")
    return cleaned
