"""The rules of a redaction, read from a TOML file or the built-in set.

builtin = ["api-key", "jwt"]                 # without this line: all of them

[[key]]
id = "customer"
match = ["customer_id", "tool.arguments.*.iban"]

[[pattern]]
id = "ticket"
match = 'ACME-[0-9]{6,10}'
ignore_case = true
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import cast

from retrospan.schemas.errors import ConfigError
from retrospan.schemas.redaction.builtin import BUILTIN, BUILTIN_KEYS, PERSONAL
from retrospan.schemas.redaction.finding import Finder
from retrospan.schemas.redaction.patterns import PatternRefused, accept

_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
#: Characters that JSON may write as an escape: a hint must not hold them.
_ESCAPABLE = re.compile(r"[^!#-.0-\[\]-~ ]+")
#: What may stand for other characters in a glob, and what JSON or UTF-8 may write in another way.
_SET = re.compile(r"\[.*\]|\[", re.DOTALL)
_NOT_LITERAL = re.compile(r"[^a-z0-9_ :$@]+")
_SAME = str.maketrans("-", "_")


def alike(name: str) -> str:
    """Return a key as rules see it: lower case, `-` as `_`."""
    return name.lower().translate(_SAME)


@dataclass(frozen=True, slots=True)
class KeyRule:
    """Takes out the value under a key. A glob without a dot is for the last name of a path, one with a dot for the
    whole path; positions in arrays are not part of a path."""

    rule: str
    globs: tuple[str, ...]

    @property
    def hints(self) -> tuple[str, ...]:
        """For each glob the longest literal part of its last name; '' where it has none. What stands before the
        last dot may be the names of other keys."""
        plain = (_SET.sub("*", alike(glob)).rpartition(".")[2] for glob in self.globs)
        return tuple(max(_NOT_LITERAL.split(name), key=len) for name in plain)


@dataclass(frozen=True, slots=True)
class Rules:
    """What to take out, in the order it is tried: keys first."""

    keys: tuple[KeyRule, ...]
    finders: tuple[Finder, ...]

    @classmethod
    def builtin(cls) -> Rules:
        """Every built-in rule."""
        return cls._of(tuple(BUILTIN) + tuple(BUILTIN_KEYS), (), ())

    @classmethod
    def secrets(cls) -> Rules:
        """Return the built-in rules but those about persons."""
        return cls._of(tuple(name for name in (*BUILTIN, *BUILTIN_KEYS) if name not in PERSONAL), (), ())

    @classmethod
    def read(cls, file: Path) -> Rules:
        """Return the rules of a TOML file. Raises ConfigError, which names the rule and what is wrong with it."""
        try:
            tree = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read {file}: {error.strerror}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file} is not TOML: {error}.") from error
        try:
            return cls.of_tree(tree)
        except ValueError as error:
            raise ConfigError(f"{file}: {error}.") from error

    @classmethod
    def of_tree(cls, tree: Mapping[str, object]) -> Rules:
        """Return the rules of a parsed file. Raises ValueError."""
        _only(tree, {"builtin", "key", "pattern"}, "the file")
        known = (*BUILTIN, *BUILTIN_KEYS)
        chosen = _texts(tree.get("builtin", list(known)), "builtin") if tree.get("builtin") != [] else ()
        for name in chosen:
            if name not in known:
                raise ValueError(f"builtin: there is no rule {name!r}; there are {', '.join(known)}")
        keys = [_key_rule(table) for table in _tables(tree, "key")]
        finders = [_finder(table) for table in _tables(tree, "pattern")]
        ids = [*chosen, *(key.rule for key in keys), *(finder.rule for finder in finders)]
        for name in ids:
            if ids.count(name) > 1:
                raise ValueError(f"the id {name!r} is used twice")
        return cls._of(chosen, tuple(keys), tuple(finders))

    @classmethod
    def _of(cls, chosen: tuple[str, ...], keys: tuple[KeyRule, ...], finders: tuple[Finder, ...]) -> Rules:
        own_keys = tuple(KeyRule(name, globs) for name, globs in BUILTIN_KEYS.items() if name in chosen)
        own = tuple(finder for name, group in BUILTIN.items() if name in chosen for finder in group)
        return cls(keys + own_keys, finders + own)


def _key_rule(table: Mapping[str, object]) -> KeyRule:
    _only(table, {"id", "match"}, "a key rule")
    name = _id(table)
    match = table.get("match")
    globs = _texts([match] if isinstance(match, str) else match, f"rule {name!r}: match")
    for glob in globs:
        if not glob or len(glob) > 200:
            raise ValueError(f"rule {name!r}: a glob has 1 to 200 characters")
        try:
            re.compile(translate(alike(glob)))
        except re.error as error:
            raise ValueError(f"rule {name!r}: {glob!r} is not a glob: {error}") from error
    return KeyRule(name, globs)


def _finder(table: Mapping[str, object]) -> Finder:
    _only(table, {"id", "match", "ignore_case"}, "a pattern rule")
    name = _id(table)
    match, ignore_case = table.get("match"), table.get("ignore_case", False)
    if not isinstance(match, str) or not isinstance(ignore_case, bool):
        raise ValueError(f"rule {name!r}: match is a text, ignore_case true or false")  # noqa: TRY004
    try:
        accepted = accept(match, ignore_case=ignore_case)
    except PatternRefused as error:
        raise ValueError(f"rule {name!r}: {match!r} is refused: {error}") from error
    literal = max(_ESCAPABLE.split(accepted.literal), key=len)
    found = accepted.compiled

    def find(text: str) -> Iterator[tuple[int, int]]:
        return (each.span() for each in found.finditer(text))

    return Finder(name, (literal,) if len(literal) > 1 else (), find)


def _id(table: Mapping[str, object]) -> str:
    name = table.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ValueError(f"a rule's id is lower-case letters, digits and _.-, not {name!r}")
    return name


def _texts(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{place} is a list of texts")
    return tuple(cast("list[str]", value))


def _tables(tree: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = tree.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError(f"write [[{name}]] for each rule")
    return cast("list[Mapping[str, object]]", value)


def _only(table: Mapping[str, object], known: set[str], place: str) -> None:
    for name in table:
        if name not in known:
            raise ValueError(f"unknown key {name!r} in {place}; known: {', '.join(sorted(known))}")
