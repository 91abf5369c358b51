"""The file of mutation rules: TOML in, rules out, errors with file and line.

[[rule]]
name = "records"
tool = "update_record"
entity = "record"
id = "arguments.record_id"
field = "arguments.field"
before = "result.before"
after = "result.after"

It may also state limits of models (`model_limits`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path as File
from typing import cast

from retrospan.ingest.rules.model_limits import PUBLISHED_LIMITS, BadLimit, Limit, ModelLimits, read_limit
from retrospan.ingest.rules.paths import Path
from retrospan.ingest.rules.rule import Called, Missed, Rule, Statement
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError
from retrospan.schemas.hashing import hash_of

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_KEYS = (
    "name",
    "tool",
    "agent",
    "service",
    "when",
    "each",
    "entity",
    "id",
    "field",
    "fields",
    "after",
    "before",
    "clear",
    "confidence",
    "priority",
)
_HIGHEST_PRIORITY = 999


class _Bad(ValueError):
    """A key of one rule cannot be used."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Rules in the order of their file, and limits of models. Without rules it says nothing."""

    rules: tuple[Rule, ...] = ()
    hash: str = ""  # of what the file means, not of how it is laid out; '' without rules and limits
    limits: ModelLimits = PUBLISHED_LIMITS

    @classmethod
    def read(cls, file: File | None) -> Ruleset:
        """Return the rules of a file, none without one. Raises ConfigError, which names file and line."""
        if file is None:
            return NO_RULES
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot read {file}: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file} is not UTF-8 text: {error}.") from error
        return cls.parse(text, str(file))

    @classmethod
    def configured(cls, file: File | None) -> Ruleset:
        """Return the same of a collector's file of rules, which nobody else can change. Raises ConfigError."""
        if file is not None:
            require_trusted(file)
        return cls.read(file)

    @classmethod
    def parse(cls, text: str, name: str) -> Ruleset:
        """Return the rules of a text; `name` is what errors call it. Raises ConfigError."""
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            where = f"{name} line {at[1]}" if at else name
            raise ConfigError(f"{where} is not TOML: {error}.") from error
        for key in tree:
            if key not in ("rule", "limit"):
                line = _line(text, -1, key)
                raise ConfigError(f"{name} line {line}: unknown key {key!r}: write [[rule]] for each rule.")
        tables, limits = _tables(tree, "rule", text, name), _tables(tree, "limit", text, name)
        if not tables and not limits:
            raise ConfigError(f"{name} has no rules: write [[rule]] for each rule.")
        rules: list[Rule] = []
        for place, table in enumerate(tables):
            try:
                rule = _rule(table)
                if any(rule.name == other.name for other in rules):
                    raise _Bad("name", f"{rule.name!r} is already the name of another rule")
            except _Bad as bad:
                raise ConfigError(f"{name} line {_line(text, place, bad.key)}: {bad.key}: {bad}.") from bad
            rules.append(rule)
        meaning: object = {"rule": tables, "limit": [_plain(table) for table in limits]} if limits else tables
        return cls(tuple(rules), hash_of(meaning)[:8], ModelLimits(tuple(_limits(limits, text, name))))

    def read_call(self, call: Called) -> Iterator[Statement | Missed]:
        """Yield what a call says by each rule that fits it."""
        for rule in self.rules:
            yield from rule.read(call)


NO_RULES = Ruleset()


def _tables(tree: Mapping[str, object], key: str, text: str, name: str) -> list[dict[str, object]]:
    tables = tree.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{name} line {_line(text, -1, key)}: write [[{key}]], with two brackets.")
    return cast("list[dict[str, object]]", tables)


def _limits(tables: list[dict[str, object]], text: str, name: str) -> Iterator[Limit]:
    for place, table in enumerate(tables):
        try:
            yield read_limit(table)
        except BadLimit as bad:
            line = _line(text, place, bad.key, "limit")
            raise ConfigError(f"{name} line {line}: {bad.key}: {bad}.") from bad


def _plain(table: Mapping[str, object]) -> dict[str, object]:
    """Return a limit as what can be hashed: days as texts."""
    return {key: value if isinstance(value, int | str | list) else str(value) for key, value in table.items()}


def _rule(table: Mapping[str, object]) -> Rule:
    for key in table:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_KEYS)}"
            raise _Bad(key, f"not a key of a rule; {hint}")
    name = _text(table, "name")
    if not _NAME.fullmatch(name):
        raise _Bad("name", f"{name!r} has characters other than letters, digits and _.-")
    after, before = _places(table, "after"), _places(table, "before")
    rule = Rule(
        name=name,
        tools=_globs(table, "tool", required=True),
        agents=_globs(table, "agent"),
        services=_globs(table, "service"),
        when=_when(table),
        each=_path(table, "each") if "each" in table else None,
        entity=_text(table, "entity"),
        id=_path(table, "id"),
        field=_path(table, "field") if "field" in table else None,
        fields=_names(table, "fields"),
        after=after,
        before=before,
        clear=_names(table, "clear"),
        confidence=_confidence(table),
        priority=_priority(table),
    )
    _agree(rule)
    return rule


def _agree(rule: Rule) -> None:
    """Refuse keys that do not go together."""
    if rule.after is None and rule.before is None and not rule.clear:
        raise _Bad(
            "after",
            "missing: say where the value is that the call wrote (or `clear`: which fields it cleared)",
        )
    for key, where in (("after", rule.after), ("before", rule.before)):
        if isinstance(where, tuple) and (rule.field is not None or rule.fields):
            other = "field" if rule.field is not None else "fields"
            raise _Bad(key, f"names its fields itself, so {other!r} cannot be given too")
    if rule.field is not None and rule.fields:
        raise _Bad("fields", "is for an object of fields; `field` says where the name of the single field is")
    paths = [rule.id, rule.field, *(path for path, _ in rule.when)]
    for where in (rule.after, rule.before):
        paths += [path for _, path in where] if isinstance(where, tuple) else [where]
    if rule.each is None and any(path is not None and path.root == "each" for path in paths):
        raise _Bad("id", "a path begins with each, but the rule has no `each` with a path to a list")
    if any(path.root == "each" for path, _ in rule.when):
        raise _Bad("when", "applies to the whole call, so its paths begin with arguments or result")


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    if value is None:
        raise _Bad(key, "missing")
    if not isinstance(value, str) or not value.strip():
        raise _Bad(key, f"{value!r} is not text")
    return value


def _parsed(key: str, value: object) -> Path:
    if not isinstance(value, str):
        raise _Bad(key, f'{value!r} is not a path such as "arguments.{key}"')
    try:
        return Path.parse(value)
    except ValueError as error:
        raise _Bad(key, str(error)) from error


def _path(table: Mapping[str, object], key: str) -> Path:
    if key not in table:
        raise _Bad(key, f'missing: write a path such as "arguments.{key}"')
    return _parsed(key, table[key])


def _places(table: Mapping[str, object], key: str) -> Path | tuple[tuple[str, Path], ...] | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, dict):
        if not value:
            raise _Bad(key, "names no field")
        return tuple((name, _parsed(key, path)) for name, path in value.items())
    return _parsed(key, value)


def _names(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise _Bad(key, "is a list of names of fields")
    return tuple(cast("list[str]", value))


def _globs(table: Mapping[str, object], key: str, required: bool = False) -> tuple[str, ...]:
    value = table.get(key, [])
    if required and key not in table:
        raise _Bad(key, 'missing: the tool\'s name, or a pattern such as "update_*"')
    globs = [value] if isinstance(value, str) else value
    if not isinstance(globs, list) or not all(isinstance(glob, str) and glob for glob in globs):
        raise _Bad(key, f"{value!r} is neither a text nor a list of texts")
    if required and not globs:
        raise _Bad(key, "an empty list matches no call")
    return tuple(cast("list[str]", globs))


def _when(table: Mapping[str, object]) -> tuple[tuple[Path, object], ...]:
    value = table.get("when", {})
    if not isinstance(value, dict):
        raise _Bad("when", 'is a table of path = value, such as {"result.ok" = true}')
    for path, wanted in value.items():
        if not isinstance(wanted, str | bool | int | float):
            raise _Bad(
                "when",
                f"{path!r}: {wanted!r} is not text, a number, true or false: quote the path on the left",
            )
    return tuple((_parsed("when", path), wanted) for path, wanted in value.items())


def _confidence(table: Mapping[str, object]) -> float | None:
    value = table.get("confidence")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _Bad("confidence", f"{value!r} is not between 0 and 1")
    return float(value)


def _priority(table: Mapping[str, object]) -> int:
    value = table.get("priority", 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _HIGHEST_PRIORITY:
        raise _Bad(
            "priority",
            f"{value!r} is not a whole number from 0 to {_HIGHEST_PRIORITY}: corrections stand above",
        )
    return value


def _line(text: str, place: int, key: str, kind: str = "rule") -> int:
    """Return the line that sets a key in the rule of that place, else where the rule begins; place -1 is the top."""
    rule, start, section = -1, 1, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
            section = heading[1].replace('"', "")
            if section == kind and line.lstrip().startswith("[["):
                rule += 1
                start = number if rule == place else start
            if (rule == place and section == f"{kind}.{key}") or (place < 0 and section.split(".")[0] == key):
                return number
        setting = re.match(r'\s*"?([\w-]+)"?\s*[=.]', line)
        if setting and rule == place and section in (kind, "") and setting[1] == key:
            return number
    return start
