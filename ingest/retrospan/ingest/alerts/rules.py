"""Alert rules and the targets that are told: TOML in, frozen records out, errors with file and line.

[[target]]
name = "oncall"
url = "https://hooks.example/agents"          or url_file, for an address that is itself a secret
secret_file = "/etc/retrospan/alerts.key"     what requests are signed with

[[target]]
name = "pager"
command = ["/usr/local/bin/page", "--quiet"]  gets the same JSON on standard input

[[rule]]
name = "failing-runs"
view = "runs"
where = "outcome = 'error' AND run_kind = 'production'"
condition = "count() >= 5"                    over these rows within the window
window = "15m"
cooldown = "1h"
severity = "critical"
to = ["oncall", "pager"]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import cast

from retrospan.ingest.alerts.rule_values import (
    TIMES,
    BadKey,
    duration,
    expression,
    flag,
    name_of,
    names,
    path,
    program,
    text,
    url,
)
from retrospan.ingest.settings.toml_lines import Lines
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.queries import catalogue
from retrospan.schemas.errors import ConfigError

SEVERITIES = ("info", "warning", "critical")
#: What a payload tells of a row, where the view has it and the rule does not say.
_SHOWN = ("run_id", "agent_name", "tool_name", "model")
_MOST_SHOWN = 12
_RULE_KEYS = (
    *("name", "view", "where", "condition", "window", "cooldown", "severity", "to"),
    *("time", "tenant", "show", "link"),
)
_WEBHOOK_KEYS = ("name", "url", "url_file", "secret_file", "allow_private", "ca")
_COMMAND_KEYS = ("name", "command")
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that signed JSON is posted to. One of `url` and `url_file` is given."""

    name: str
    url: str
    url_file: Path | None
    secret_file: Path
    allow_private: bool
    """Whether it may lie in a private network or on this machine, and speak plain HTTP there."""
    ca: Path | None
    """Certificate authorities to trust, instead of the system's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that gets the JSON on standard input."""

    name: str
    command: tuple[str, ...]


Target = Webhook | Program


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """When whom to tell. Times in seconds."""

    name: str
    view: str
    where: str
    condition: str
    window: float
    cooldown: float
    severity: str
    to: tuple[str, ...]
    time: str
    """The column that says when a row was."""
    tenant: str
    """Whose rows are meant; '' for everybody's."""
    show: tuple[str, ...]
    link: str
    """An address with `{run_id}`, where people look at a run; '' for none."""


@dataclass(frozen=True, slots=True)
class AlertRules:
    """The rules of a file, in its order, and the targets by name."""

    rules: tuple[AlertRule, ...] = ()
    targets: Mapping[str, Target] | None = None

    @classmethod
    def configured(cls, file: Path | None) -> AlertRules:
        """Return the rules of a collector's file, which nobody else can change; none without one.

        Raises:
            ConfigError: says which file and line.
        """
        if file is None:
            return cls()
        require_trusted(file)
        try:
            return read_rules(file.read_text(encoding="utf-8"), str(file))
        except OSError as error:
            raise ConfigError(f"cannot read {file}: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file} is not UTF-8 text: {error}.") from error

    def require_timely(self, every_seconds: float) -> None:
        """Return if no row can fall between two evaluations. Raises ConfigError."""
        if self.rules and every_seconds < 1:
            raise ConfigError(f"alerts.every_seconds: {every_seconds:g} is too often: 1 second is the least.")
        for rule in self.rules:
            if rule.window < every_seconds:
                raise ConfigError(
                    f"the alert rule {rule.name}: its window of {rule.window:g} s is shorter than "
                    f"alerts.every_seconds ({every_seconds:g}), so that some rows would be in no window."
                )

    def named(self, name: str) -> AlertRule:
        """Return a rule. Raises ConfigError with the nearest name."""
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise ConfigError(f"there is no rule {name!r}{_near(name, [rule.name for rule in self.rules])}.")


def read_rules(source: str, name: str) -> AlertRules:
    """Read a file's text; `name` is what errors call it. Raises ConfigError."""
    try:
        tree = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not TOML: {error}.") from error
    lines = Lines(source)
    for key in tree:
        if key not in ("rule", "target"):
            raise ConfigError(
                f"{name} line {lines.of(key)}: unknown key {key!r}{_near(key, ('rule', 'target'))}: "
                "write [[rule]] and [[target]]."
            )
    targets: dict[str, Target] = {}
    for place, table in enumerate(_tables(tree, "target", lines, name)):
        try:
            target = _target(table)
            if target.name in targets:
                raise BadKey("name", f"{target.name!r} is already the name of another target")
        except BadKey as bad:
            raise _wrong(name, lines.of_entry("target", place, bad.key), bad) from bad
        targets[target.name] = target
    rules: dict[str, AlertRule] = {}
    for place, table in enumerate(_tables(tree, "rule", lines, name)):
        try:
            rule = _rule(table, targets)
            if rule.name in rules:
                raise BadKey("name", f"{rule.name!r} is already the name of another rule")
        except BadKey as bad:
            raise _wrong(name, lines.of_entry("rule", place, bad.key), bad) from bad
        rules[rule.name] = rule
    if not rules:
        raise ConfigError(f"{name} has no rules: write [[rule]] for each rule.")
    return AlertRules(tuple(rules.values()), targets)


def _wrong(name: str, line: int, bad: BadKey) -> ConfigError:
    return ConfigError(f"{name} line {line}: {bad.key}: {bad}.")


def _tables(tree: Mapping[str, object], key: str, lines: Lines, name: str) -> list[dict[str, object]]:
    found = tree.get(key, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise ConfigError(f"{name} line {lines.of(key)}: write [[{key}]], with two brackets.")
    return cast("list[dict[str, object]]", found)


def _target(table: Mapping[str, object]) -> Target:
    if "command" in table:
        _require_known(table, _COMMAND_KEYS)
        return Program(name=name_of(table, "name"), command=program(table, "command"))
    _require_known(table, (*_WEBHOOK_KEYS, "command"))
    if ("url" in table) == ("url_file" in table):
        raise BadKey("name", "a target needs one of url, url_file and command")
    allow_private = flag(table, "allow_private")
    return Webhook(
        name=name_of(table, "name"),
        url=url(table, "url", allow_private) if "url" in table else "",
        url_file=path(table, "url_file") if "url_file" in table else None,
        secret_file=path(table, "secret_file"),
        allow_private=allow_private,
        ca=path(table, "ca") if "ca" in table else None,
    )


def _rule(table: Mapping[str, object], targets: Mapping[str, Target]) -> AlertRule:
    _require_known(table, _RULE_KEYS)
    view = _view(text(table, "view"))
    columns = [column.name for column in view.columns]
    to = names(table, "to")
    for target in to:
        if target not in targets:
            raise BadKey("to", f"there is no target {target!r}{_near(target, list(targets))}")
    severity = text(table, "severity", "warning")
    if severity not in SEVERITIES:
        raise BadKey("severity", f"{severity!r} is not one of {', '.join(SEVERITIES)}")
    show = names(table, "show") if "show" in table else tuple(name for name in _SHOWN if name in columns)
    for column in show[:_MOST_SHOWN]:
        _require_column("show", column, view)
    if len(show) > _MOST_SHOWN:
        raise BadKey("show", f"{len(show)} columns, and {_MOST_SHOWN} are the most")
    link = text(table, "link", "")
    if link and (not re.match(r"https?://", link) or "{run_id}" not in link):
        raise BadKey(
            "link", f"{link!r} is not an address with {{run_id}}, such as https://x.example/{{run_id}}"
        )
    return AlertRule(
        name=name_of(table, "name"),
        view=view.name,
        where=expression(table, "where", "1"),
        condition=expression(table, "condition", "count() > 0"),
        window=duration(table, "window", 60.0, 90 * _DAY),
        cooldown=duration(table, "cooldown", 60.0, 90 * _DAY, "1h"),
        severity=severity,
        to=to,
        time=_time(table, view),
        tenant=text(table, "tenant", ""),
        show=show,
        link=link,
    )


def _view(name: str) -> catalogue.View:
    known = {view.name: view for view in catalogue.views()}
    if name not in known:
        raise BadKey("view", f"there is no view {name!r}{_near(name, list(known))}")
    if known[name].parameters:
        raise BadKey("view", f"{name} takes parameters: name another view, and query {name} in the condition")
    return known[name]


def _time(table: Mapping[str, object], view: catalogue.View) -> str:
    times = [column.name for column in view.columns if "DateTime64" in column.type]
    if "time" in table:
        column = text(table, "time")
        _require_column("time", column, view)
        if column not in times:
            raise BadKey(
                "time", f"{column} is not a time; those of {view.name}: {', '.join(times) or 'none'}"
            )
        return column
    found = next((name for name in TIMES if name in times), None)
    if found is None:
        raise BadKey("view", f"the rows of {view.name} have no time, so that none is within a window")
    return found


def _require_column(key: str, column: str, view: catalogue.View) -> None:
    known = [each.name for each in view.columns]
    if column not in known:
        raise BadKey(key, f"the view {view.name} has no column {column!r}{_near(column, known)}")


def _require_known(table: Mapping[str, object], keys: Sequence[str]) -> None:
    for key in table:
        if key not in keys:
            raise BadKey(key, f"not a key here{_near(key, keys)}")


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1, 0.5)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(known)}" if known else "; there are none"
