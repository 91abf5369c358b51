"""How long which runs are kept: a TOML file, or the defaults.

    [keep]                       by class; what is not named has its default
    ok = "7d"

    [sample]                     of successes only this share is kept so long, chosen by the run id
    share = 0.1
    rest = "1d"                  the others go at this age

    [[rule]]                     the first that fits a run takes precedence over [keep]
    agent = "billing-*"          and tenant, environment: exact, or with * and ?
    class = ["ok", "error"]      without it: every class but flagged and golden
    keep = "90d"

    payloads = "7d"              their payloads go earlier

    [payloads]                   by class; of what is not named they go with the run
    ok = "2d"

    [archive]
    keep = "30d"                 bytes of deleted runs stay in the log's archive until they are so old

Everything that is refused is refused with the line of the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from retrospan.ingest.retention.policy.ages import DAY, age_text, parse_age
from retrospan.ingest.retention.policy.candidate import CLASSES, HELD, Candidate, class_of, share_of
from retrospan.ingest.settings.toml_lines import Lines
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError

DEFAULT_KEEP: Mapping[str, int | None] = {
    "golden": None,
    "flagged": 90 * DAY,
    "test": DAY,
    "eval": DAY,
    "demo": DAY,
    "error": 30 * DAY,
    "incomplete": 30 * DAY,
    "ok": 7 * DAY,
    "other": 7 * DAY,
}
#: What a rule means that names no class: what people chose to keep is never meant by accident.
_ORDINARY = frozenset(CLASSES) - {"golden", "flagged"}
_PLACES = ("agent", "tenant", "environment")
_DEFAULT_REST = DAY
_TABLES = {"keep": CLASSES, "payloads": CLASSES, "sample": ("share", "rest"), "archive": ("keep",)}
_RULE_KEYS = ("name", *_PLACES, "class", "keep", "payloads", "share", "rest")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """Runs of some classes, at some place, and how long they are kept. Ages are nanoseconds, None is for ever."""

    name: str
    classes: frozenset[str]
    keep: int | None
    agent: str = "*"
    tenant: str = "*"
    environment: str = "*"
    share: float = 1.0
    """Of these runs only this share is kept so long."""
    rest: int | None = None
    """The age at which the others go."""
    payloads: int | None = None
    """The age at which payloads go before their run; None is with it."""

    def fits(self, run: Candidate, run_class: str) -> bool:
        """Return whether the run is meant."""
        return (
            run_class in self.classes
            and _matches(run.agent_name, self.agent)
            and _matches(run.tenant, self.tenant)
            and _matches(run.environment, self.environment)
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says of a run. `due_at` is Unix nanoseconds; None is never."""

    run_class: str
    rule: str
    due_at: int | None


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in the order in which they are asked; the last ones fit every run."""

    rules: tuple[RetentionRule, ...]
    archive: int = 0
    """How old a segment of the archive must be before bytes of deleted runs leave it, in nanoseconds."""
    source: str = field(default="the defaults", compare=False)

    def judge(self, run: Candidate) -> Verdict:
        """Say when a run is due, counted from its last arrival."""
        run_class = class_of(run)
        if run_class == HELD:
            return Verdict(run_class, HELD, None)
        rule = next(rule for rule in self.rules if rule.fits(run, run_class))
        age, words = rule.keep, f"{rule.name}: {age_text(rule.keep)}"
        if rule.share < 1 and share_of(run.run_id) >= rule.share:
            age, words = rule.rest, f"{rule.name}: not in the sample, {age_text(rule.rest)}"
        return Verdict(run_class, words, None if age is None else run.arrived_at + age)

    @property
    def payloads(self) -> Policy | None:
        """When payloads go, as a policy of its own; None when they go with their runs."""
        if all(rule.payloads is None for rule in self.rules):
            return None
        rules = (
            replace(
                rule, name=f"payloads of {rule.name}", keep=rule.payloads, payloads=None, share=1.0, rest=None
            )
            for rule in self.rules
        )
        return Policy(tuple(rules), self.archive, self.source)

    @property
    def shortest(self) -> int | None:
        """The least age at which anything goes; None when nothing does."""
        ages = [age for rule in self.rules for age in (rule.keep, rule.rest) if age is not None]
        return min(ages, default=None)


def default_policy() -> Policy:
    """Return what is kept without a file."""
    return Policy(tuple(_by_class(DEFAULT_KEEP, 1.0, _DEFAULT_REST)))


def read_policy_file(file: Path | None) -> Policy:
    """Return the policy of the collector's settings, read anew: the file, or the defaults.

    Raises:
        ConfigError: the file cannot be read or used, or others could have written it.
    """
    if file is None:
        return default_policy()
    try:
        require_trusted(file, "the retention policy")
        return read_policy(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the retention policy {file}: {error}.") from error


def read_policy(text: str, name: str) -> Policy:
    """Read a file's text.

    Raises:
        ConfigError: something in it cannot be meant; the message names the line.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not TOML: {error}.") from error
    return _Reader(tree, Lines(text), name).policy()


def _matches(name: str, pattern: str) -> bool:
    """Whether a name is what a rule says: `*` and `?` stand for others, a bracket is one."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def _by_class(
    keep: Mapping[str, int | None],
    share: float,
    rest: int | None,
    payloads: Mapping[str, int | None] = MappingProxyType({}),
) -> list[RetentionRule]:
    return [
        RetentionRule(
            name=name,
            classes=frozenset({name}),
            keep=keep[name],
            share=share if name == "ok" else 1.0,
            rest=rest if name == "ok" and share < 1 else None,
            payloads=payloads.get(name),
        )
        for name in CLASSES
    ]


class _Reader:
    """Reads one file."""

    def __init__(self, tree: dict[str, object], lines: Lines, name: str) -> None:
        self._tree = tree
        self._lines = lines
        self._name = name

    def policy(self) -> Policy:
        for key in self._tree:
            if key != "rule" and key not in _TABLES:
                raise self._wrong(self._lines.of(key), f"unknown key {key!r}{_near(key, (*_TABLES, 'rule'))}")
        keep = dict(DEFAULT_KEEP)
        for key, value in self._table("keep").items():
            keep[key] = self._age(value, self._lines.of("keep", key), key)
        payloads = {
            key: self._earlier(value, keep[key], self._lines.of("payloads", key), key)
            for key, value in self._table("payloads").items()
        }
        sample = self._table("sample")
        line = self._lines.of("sample", "share")
        share = self._share(sample.get("share", 1.0), line)
        rest = _DEFAULT_REST
        if "rest" in sample:
            found = self._age(sample["rest"], self._lines.of("sample", "rest"), "rest")
            rest = found if found is not None else rest
            if found is None:
                raise self._wrong(self._lines.of("sample", "rest"), "rest = 'forever' does not make a sample")
        archive = self._table("archive")
        archived = 0
        if "keep" in archive:
            found = self._age(archive["keep"], self._lines.of("archive", "keep"), "keep")
            archived = found if found is not None else 2**62
        rules = [*self._rules(), *_by_class(keep, share, rest, payloads)]
        return Policy(tuple(rules), archived, self._name)

    def _table(self, table: str) -> dict[str, object]:
        found = self._tree.get(table, {})
        if not isinstance(found, dict):
            raise self._wrong(self._lines.of(table), f"{table} is a table: write [{table}]")
        for key in found:
            line = self._lines.of(table, key)
            if key == HELD:
                raise self._wrong(line, "a policy cannot shorten a hold: lift it (retrospan hold RUN --lift)")
            if key not in _TABLES[table]:
                what = "class" if table in ("keep", "payloads") else "key"
                raise self._wrong(line, f"unknown {what} {key!r}{_near(key, _TABLES[table])}")
        return found

    def _rules(self) -> list[RetentionRule]:
        listed = self._tree.get("rule", [])
        if not isinstance(listed, list) or not all(isinstance(rule, dict) for rule in listed):
            raise self._wrong(self._lines.of("rule"), "rules are a list of tables: write [[rule]]")
        return [self._rule(rule, place) for place, rule in enumerate(listed)]

    def _rule(self, told: dict[str, object], place: int) -> RetentionRule:
        lines = self._lines
        for key in told:
            if key not in _RULE_KEYS:
                raise self._wrong(lines.of_rule(place, key), f"unknown key {key!r}{_near(key, _RULE_KEYS)}")
        places: dict[str, str] = {}
        for key in _PLACES:
            value = told.get(key, "*")
            if not isinstance(value, str) or not value:
                raise self._wrong(lines.of_rule(place, key), f"{key} = {value!r} is not a name")
            places[key] = value
        classes = self._classes(told.get("class"), lines.of_rule(place, "class"))
        if "keep" not in told:
            raise self._wrong(lines.of_rule(place), "the rule needs keep, such as keep = '30d'")
        keep = self._age(told["keep"], lines.of_rule(place, "keep"), "keep")
        everywhere = all(not value.strip("*") for value in places.values())
        if everywhere and "class" not in told and keep is not None:
            raise self._wrong(
                lines.of_rule(place),
                "this rule matches every run, so everything would be deleted at its age: name a class, an agent, "
                "a tenant or an environment",
            )
        share = self._share(told.get("share", 1.0), lines.of_rule(place, "share"))
        rest = (
            self._age(told["rest"], lines.of_rule(place, "rest"), "rest") if "rest" in told else _DEFAULT_REST
        )
        payloads = (
            self._earlier(told["payloads"], keep, lines.of_rule(place, "payloads"), "payloads")
            if "payloads" in told
            else None
        )
        name = told.get("name", f"rule {place + 1}")
        return RetentionRule(
            name=str(name),
            classes=classes,
            keep=keep,
            share=share,
            rest=rest if share < 1 else None,
            payloads=payloads,
            **places,
        )

    def _classes(self, told: object, line: int) -> frozenset[str]:
        if told is None:
            return _ORDINARY
        listed = told if isinstance(told, list) else [told]
        for name in listed:
            if name == HELD:
                raise self._wrong(line, "a policy cannot shorten a hold: lift it (retrospan hold RUN --lift)")
            if name not in CLASSES:
                raise self._wrong(line, f"unknown class {name!r}{_near(str(name), CLASSES)}")
        return frozenset(map(str, listed))

    def _age(self, value: object, line: int, key: str) -> int | None:
        try:
            return parse_age(value)
        except ValueError as error:
            raise self._wrong(line, f"{key} = {value!r}: {error}") from error

    def _earlier(self, value: object, keep: int | None, line: int, key: str) -> int | None:
        """Return the age of payloads, which is below that of their runs."""
        age = self._age(value, line, key)
        if keep is not None and age is not None and age >= keep:
            raise self._wrong(
                line,
                f"{key} = {value!r}: payloads are deleted with their run at {age_text(keep)}; their own age must be below that",
            )
        return age

    def _share(self, value: object, line: int) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self._wrong(line, f"share = {value!r}: a share is between 0 and 1")
        return float(value)

    def _wrong(self, line: int, what: str) -> ConfigError:
        return ConfigError(f"{self._name} line {line}: {what}.")


def _near(word: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(word, known, 1, 0.5)
    return f"; did you mean {near[0]!r}" if near else f"; known are {', '.join(known)}"
