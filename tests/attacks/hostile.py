"""Hostile statements for the SQL port, made from a grammar: views, literals, comments, casings, nesting, clauses.

One number makes one request, always the same. Each tries to read or write a file, to reach the network or the process,
to change a setting, or to crash what parses it; about half are shaped so that much of the wall lets them by.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from attacks.hostile_grammar import BLANKS, BREAKS, CLAUSES, FORMATS, FUNCTIONS, HEADS, OTHERS, TABLES

from retrospan.queries import catalogue
from retrospan.queries.catalogue import Parameter, View

VIEWS = [view for view in catalogue.views() if view.parameters]
# The engine takes seconds to plan these, whatever they are given.
_LONG = ("run_diff", "run_divergence", "provenance", "drift", "circumstances", "run_pairs", "score_drift")
_WEIGHTS = [1 if view.name in _LONG else 20 for view in VIEWS]
PLAIN = [view.name for view in catalogue.views() if not view.parameters]


@dataclass(frozen=True, slots=True)
class Bait:
    """What the statements are after: a file that must not be read, and a place that must stay empty."""

    secret: str
    target: str
    tokens: str
    """A file that must stay as it is."""
    zone: str
    """A file that is asked for as a time zone: the engine tries to open it, which only the kernel can refuse."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request. `words` are those of the address, without `query`."""

    text: str
    words: dict[str, str] = field(default_factory=dict[str, str])
    in_address: bool = False


def attempt(number: int, bait: Bait) -> Attempt:
    """The request of this number."""
    made = _Maker(random.Random(number), bait)
    return made.request()


class _Maker:
    def __init__(self, chance: random.Random, bait: Bait) -> None:
        self._chance = chance
        self._bait = bait

    def request(self) -> Attempt:
        kinds: Sequence[tuple[Callable[[], str], int]] = (
            (self._call, 9),
            (self._nested, 6),
            (self._select, 5),
            (self._other, 1),
        )
        kind = self._chance.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        text = kind()
        if self._chance.random() < 0.3:
            text += self._pick(CLAUSES)
        if self._chance.random() < 0.5:
            text = self._disguised(text)
        if self._chance.random() < 0.15:
            text = self._broken(text)
        return Attempt(text, self._words(), self._chance.random() < 0.3)

    def _pick(self, choices: Sequence[str]) -> str:
        return self._filled(self._chance.choice(choices))

    def _filled(self, text: str) -> str:
        secret = self._bait.secret
        half = len(secret) // 2
        return (
            text.replace("{secret}", secret)
            .replace("{zone}", self._bait.zone)
            .replace("{target}", self._bait.target)
            .replace("{tokens}", self._bait.tokens)
            .replace("{half}", secret[:half])
            .replace("{rest}", secret[half:])
            .replace("{{", "{")
            .replace("}}", "}")
        )

    def _select(self) -> str:
        columns = ", ".join(self._expression() for _ in range(self._chance.randint(1, 3)))
        source = self._chance.random()
        if source < 0.2:
            return f"SELECT {columns}"
        if source < 0.5:
            return f"SELECT {columns} FROM {self._pick(TABLES)}"
        if source < 0.75:
            return f"SELECT * FROM {self._chance.choice(PLAIN)} WHERE toString(tenant) != {self._literal()} LIMIT 2"
        return f"SELECT * FROM {self._chance.choice(PLAIN)} WHERE {self._expression()} = 1"

    def _expression(self) -> str:
        shape = self._chance.random()
        if shape < 0.5:
            return self._pick(FUNCTIONS)
        if shape < 0.7:
            return self._literal()
        if shape < 0.8:
            return f"({self._pick(FUNCTIONS)}) AS settings"
        return self._chance.choice(
            ("1", "1", "now()", "count()", "*", "settings", "version()", "{x:String}", "1e5", "-1")
        )

    def _nested(self) -> str:
        text = self._chance.choice((self._select, self._call))()
        for _ in range(self._chance.randint(1, 4)):
            if self._chance.random() < 0.3:
                text += self._pick(CLAUSES)
            text = self._filled(self._chance.choice(HEADS).replace("{0}", text))
            if len(text) > 20_000:
                break
        return text

    def _call(self) -> str:
        """A view with parameters, whose values try to stand for each other's places and to end what holds them."""
        view = self._chance.choices(VIEWS, _WEIGHTS)[0]
        given = [f"{parameter.name} = {self._value(view, parameter)}" for parameter in view.parameters]
        self._chance.shuffle(given)
        if self._chance.random() < 0.1:
            given.append(self._chance.choice((given[0], "tenant = 'x'", "1 = 1")))
        name = self._chance.choice((view.name, f"`{view.name}`", f"retrospan.{view.name}", view.name.upper()))
        if self._chance.random() < 0.75:
            name = view.name
        alias = self._chance.choice(("", " AS s", " s", " FINAL", " LIMIT 1"))
        return f"SELECT * FROM {name}({', '.join(given)}){alias}"

    def _value(self, view: View, parameter: Parameter) -> str:
        shape = self._chance.random()
        if parameter.type != "String" and shape < 0.7:
            return self._chance.choice(("1", "2", "'1'", "0"))
        if parameter.name == "direction" and shape < 0.7:
            return self._chance.choice(("'up'", "'down'"))
        if shape < 0.55:
            return self._quoted(self._content(view))
        if shape < 0.7:
            return self._literal()
        if shape < 0.8:
            return self._chance.choice(
                ("{x:String}", "{x:Identifier}", "{ x : String }", "{x:UInt32}", "{:}")
            )
        if shape < 0.9:
            return self._chance.choice(("1", "0", "-1", "1e9", "0x10", "1abc", "NULL", "4294967296", "'1'"))
        return self._pick(FUNCTIONS)

    def _content(self, view: View) -> str:
        """Text for a literal: placeholders of the view, ends of what may be around it, and what should then run."""
        places = [f"{{{parameter.name}:{parameter.type}}}" for parameter in view.parameters]
        parts: list[str] = []
        for _ in range(self._chance.randint(1, 5)):
            kind = self._chance.random()
            if kind < 0.35:
                parts.append(self._chance.choice(places))
            elif kind < 0.65:
                parts.append(self._chance.choice(BREAKS))
            elif kind < 0.8:
                parts.append(f" OR toUInt64({self._pick(FUNCTIONS)}) = 1 ")
            elif kind < 0.9:
                parts.append(f" UNION ALL SELECT * FROM {self._pick(TABLES)} ")
            else:
                parts.append(self._pick(CLAUSES))
        return "".join(parts)

    def _quoted(self, content: str) -> str:
        style = self._chance.random()
        if style < 0.5:
            return "'" + content.replace("\\", "\\\\").replace("'", "\\'") + "'"
        if style < 0.8:
            return "'" + content.replace("\\", "\\\\").replace("'", "''") + "'"
        if style < 0.95:
            tag = self._chance.choice(("", "a", "String"))
            return f"${tag}${content}${tag}$"
        return f"'{content}'"

    def _literal(self) -> str:
        return self._quoted(self._content(self._chance.choice(VIEWS)))

    def _other(self) -> str:
        return self._pick(OTHERS)

    def _disguised(self, text: str) -> str:
        """Other blanks between the words and other case; what is in quotes may change too, which is as good."""
        parts: list[str] = []
        for word in text.split(" "):
            changed = self._chance.random()
            if changed < 0.2:
                word = self._chance.choice((word.upper(), word.lower(), word.swapcase()))
            parts += [word, self._pick(BLANKS) if self._chance.random() < 0.3 else " "]
        return "".join(parts[:-1])

    def _broken(self, text: str) -> str:
        """One or two places with something too much or too little."""
        for _ in range(self._chance.randint(1, 2)):
            place = self._chance.randrange(len(text) + 1)
            if self._chance.random() < 0.3:
                text = text[:place] + text[place + self._chance.randint(1, 4) :]
            else:
                piece = self._chance.choice(
                    (*BREAKS, "(", ")", ",", ";", "\0", "\u2019", "e", "x'", "b'", "N'")
                )
                text = text[:place] + piece + text[place:]
        return text

    def _words(self) -> dict[str, str]:
        words: dict[str, str] = {}
        if self._chance.random() < 0.4:
            words["param_x"] = self._content(self._chance.choice(VIEWS))
        if self._chance.random() < 0.1:
            words["param_t"] = self._chance.choice(("errors", "tables", "users", "`", ""))
            words["param_d"] = self._chance.choice(("system", "default", "retrospan", "information_schema"))
        if self._chance.random() < 0.05:
            words[f"param_{self._chance.choice(('', 'x y', 'max_threads', '--', 'ä'))}"] = "1"
        if self._chance.random() < 0.15:
            words["default_format"] = self._pick(FORMATS)
        if self._chance.random() < 0.15:
            name = self._chance.choice(
                (
                    *(
                        "readonly",
                        "max_execution_time",
                        "max_memory_usage",
                        "output_format_schema",
                        "session_timezone",
                    ),
                    *(
                        "format_schema",
                        "limit",
                        "allow_ddl",
                        "max_block_size",
                        "log_comment",
                        "output_format_x",
                    ),
                    "output_format_csv_null_representation",
                )
            )
            words[name] = self._filled(
                self._chance.choice(("0", "1", "-1", "", "{zone}", "x\0", "'", "\\'", "a', b='c"))
            )
        if self._chance.random() < 0.03:
            words["database"] = self._chance.choice(
                ("system", "default", "retrospan", "information_schema", "'")
            )
        return words
