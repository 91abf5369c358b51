"""Removes secrets from text: by pattern anywhere, by key inside JSON, and inside text within JSON in turn.

Text in which nothing is found is returned as the same object. Secrets are replaced by `[redacted:<rule>]`, and their
place and rule are noted in `Taken`, never the secret itself. The cost is proportional to the text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fnmatch import translate

from retrospan.schemas.redaction.encoded import MOST_LAYERS, Plain, plain_bytes
from retrospan.schemas.redaction.finding import RUN, RUN_OF, Finder
from retrospan.schemas.redaction.hints import Hints
from retrospan.schemas.redaction.rules import Rules, alike
from retrospan.schemas.redaction.strings import is_encodable, skip_space, string_at

MOST_NESTED = 8
#: Keys of pairs: {"name": "cookie", "value": …}.
NAMING = frozenset({"name", "key", "header", "field", "header_name", "headername"})
NAMED = frozenset({"value", "values", "val", "header_value", "headervalue"})
MOST_LISTED = 200
_KNOWN_KEYS = 20_000
_LONGEST_SHOWN = 300
_LONGEST_NAME = 100
_LONGEST_PATH = 2_000
_MOST_OPEN = 200

#: Bytes as prefilters compare them: lower case, and for keys also `-` as `_`.
_LOWER = bytes(range(256)).lower()
_ALIKE = _LOWER.replace(b"-", b"_")
#: An ASCII character that hides behind JSON's escape.
_HIDDEN = re.compile(rb"\\u00[0-7]")
#: What follows the prefix of a key; with a prefix, the shortest there is.
_RUN = f"{RUN_OF}{{{RUN}}}".encode()
_LONG_RUN = re.compile(f"{RUN_OF}{{{RUN + 2}}}")
_JSON_BEGINS = re.compile(r'[{\[][\s\\]*["{\[]')
_MARK = re.compile(r'["{}\[\],:]')
_NUMBER = re.compile(r"[0-9]{13,19}")
_SCALAR_ENDS = re.compile(r"[,}\]\s]|\Z")
_PLAIN = {"null", "true", "false", '""'}
_MARKER = re.compile(r'"?\[redacted:[a-z0-9_.-]{1,64}\]"?')
#: A pair whose name stands behind its value.
_NAME_NEXT = re.compile(
    r'\s{0,20},\s{0,20}"(?:name|key|header|field)"\s{0,20}:\s{0,20}"([^"\\]{1,100})"', re.IGNORECASE
)


class TooDeep(ValueError):
    """JSON in JSON in JSON …, or a path longer than anybody writes: it is not followed to the end."""


@dataclass(slots=True)
class Taken:
    """What was taken out: pairs of path and rule, each once."""

    pairs: dict[tuple[str, str], None] = field(default_factory=dict)
    values: int = 0

    def __bool__(self) -> bool:
        return bool(self.values)

    def note(self, path: str, rule: str) -> None:
        self.values += 1
        if len(self.pairs) < MOST_LISTED:
            self.pairs.setdefault((path, rule))


def marker(rule: str) -> str:
    """Return what stands in the place of a secret."""
    return f"[redacted:{rule}]"


def is_marker(text: str) -> bool:
    """Return whether this is what stands in the place of a secret already, quoted or not."""
    return _MARKER.fullmatch(text) is not None


class Matcher:
    """Applies rules to text. Safe to use from several threads."""

    def __init__(self, rules: Rules) -> None:
        self._finders = rules.finders
        self._last_names: list[tuple[re.Pattern[str], str]] = []
        self._paths: list[tuple[re.Pattern[str], str]] = []
        hints: set[str] = set()
        for key in rules.keys:
            for glob, hint in zip(key.globs, key.hints, strict=True):
                among = self._paths if "." in glob else self._last_names
                among.append((re.compile(translate(alike(glob))), key.rule))
                hints.add(hint)
        # A key whose glob has no literal text may be anything: then every text must be walked.
        self._key_hints = _shortest(hints) if all(len(hint) > 1 for hint in hints) else ("",)
        self._has_keys = bool(hints)
        # None: whatever it is, it must be walked.
        self._key_bytes = None if "" in self._key_hints else Hints(hint.encode() for hint in self._key_hints)
        # Nearly all rules are about keys with a prefix, and nearly no text holds one: they are asked for together.
        self._others = tuple(finder for finder in self._finders if not finder.run)
        self._unhinted = tuple(finder for finder in self._finders if not finder.hints)
        keys = [finder for finder in self._finders if finder.run]
        self._prefixes = Hints((hint.encode() for finder in keys for hint in finder.hints), _RUN)
        self._hint_bytes = Hints(hint.encode() for finder in self._others for hint in finder.hints)
        self._looser: dict[bytes, list[re.Pattern[bytes] | None]] = {}
        for finder in self._finders:
            for hint in finder.hints or ("",):
                self._looser.setdefault(hint.encode(), []).append(finder.loose)
        self._keys: dict[str, str | None] = {}
        self._clean: dict[str, str] = {}

    def may_hold(self, data: bytes, layers: int = MOST_LAYERS) -> bool:
        """Whether bytes that hold texts might hold anything to take out. Never False where there is something."""
        low = data.translate(_LOWER)
        found = self._hint_bytes.all_in(low) | self._prefixes.all_in(low)
        for hint in (b"", *found):
            for loose in self._looser.get(hint, ()):
                if loose is None or loose.search(data):
                    return True
        if self._has_keys and (self._key_bytes is None or self._key_bytes.any_in(data.translate(_ALIKE))):
            return True
        if _HIDDEN.search(data):
            return True
        plain = plain_bytes(data) if layers else data
        return plain is not data and self.may_hold(plain, layers - 1)

    def rule_for(self, path: str) -> str | None:
        """Return the key rule for a path of names joined by dots, if there is one."""
        if not self._has_keys:
            return None
        same = alike(path)
        if same in self._keys:
            return self._keys[same]
        last = same.rpartition(".")[2]
        found = next((rule for glob, rule in self._last_names if glob.match(last)), None)
        if found is None:
            found = next((rule for glob, rule in self._paths if glob.match(same)), None)
        if len(self._keys) < _KNOWN_KEYS:
            self._keys[same] = found
        return found

    def rule_for_named(self, path: str, name: str) -> str | None:
        """Return the key rule for the value of a pair below a path, such as {"name": "cookie", "value": …}."""
        return self.rule_for(f"{path}.{name}" if path else name) if 0 < len(name) <= _LONGEST_NAME else None

    def below(self, path: str, key: str) -> str:
        """Return the path of a key under a path, itself free of what the patterns find. Raises TooDeep."""
        clean = self._clean.get(key)
        if clean is None:
            clean = self._masked_all(key, "", Taken())
            if len(clean) > _LONGEST_SHOWN:
                clean = clean[: _LONGEST_SHOWN // 2] + clean[-_LONGEST_SHOWN // 2 :]
            if len(self._clean) < _KNOWN_KEYS and len(key) <= _LONGEST_SHOWN:
                self._clean[key] = clean
        if len(path) + len(clean) > _LONGEST_PATH:
            raise TooDeep(f"a path of more than {_LONGEST_PATH} characters")
        return f"{path}.{clean}" if path else clean

    def text(self, text: str, path: str, taken: Taken, *, keys_below: str = "", depth: int = 0) -> str:
        """Return the text without what the rules find in it. `path` is where it stands, as it will be listed;
        `keys_below` is the path that keys of JSON within it go on from. Raises TooDeep."""
        if not text:
            return text
        if self._wants_walk(text) and (start := _JSON_BEGINS.search(text)):
            if depth >= MOST_NESTED:
                raise TooDeep(f"JSON within JSON, more than {MOST_NESTED} levels")
            text = _Walk(self, text, path, keys_below, taken, depth).run(start.start())
        text = self._masked_all(text, path, taken)
        return (
            self._masked_escapes(text, path, taken) if "%" in text or "\\" in text or "&#" in text else text
        )

    def _masked_escapes(self, text: str, path: str, taken: Taken) -> str:
        """Return the same for what stands there in escapes."""
        layers: list[Plain] = []
        ranges: list[tuple[int, int, str]] = []
        plain = text
        while len(layers) < MOST_LAYERS and (layer := Plain(plain)).text != plain:
            layers.append(layer)
            plain = layer.text
            for finder in self._worth_trying(plain.lower()):
                for start, end in finder.find(plain):
                    if not is_marker(plain[start:end]):
                        ranges.append((*_before(layers, start, end), finder.rule))
        parts: list[str] = []
        at = 0
        for start, end, rule in sorted(ranges):
            if start >= at:
                parts += (text[at:start], marker(rule))
                taken.note(path[:_LONGEST_SHOWN], rule)
            at = max(at, end)
        return "".join(parts) + text[at:] if parts else text

    def _wants_walk(self, text: str) -> bool:
        return "\\" in text or self._has_key_hint(text) or _NUMBER.search(text) is not None

    def _masked_all(self, text: str, path: str, taken: Taken) -> str:
        low = text.lower()
        for finder in self._worth_trying(low):
            # Written out: this is where the time goes.
            for hint in finder.hints or ("",):
                if hint in low:
                    break
            else:
                continue
            masked = self._masked(finder, text, path, taken)
            if masked is not text:
                text, low = masked, masked.lower()
        return text

    def _worth_trying(self, low: str) -> tuple[Finder, ...]:
        """Most texts hold no hint at all."""
        data = low.encode(errors="surrogatepass")
        if _LONG_RUN.search(low) and self._prefixes.any_in(data):
            return self._finders
        return self._others if self._hint_bytes.any_in(data) else self._unhinted

    def _has_key_hint(self, text: str) -> bool:
        if not self._has_keys:
            return False
        same = alike(text)
        return any(hint in same for hint in self._key_hints)

    @staticmethod
    def _masked(finder: Finder, text: str, path: str, taken: Taken) -> str:
        parts: list[str] = []
        at = 0
        for start, end in finder.find(text):
            if is_marker(text[start:end]):
                continue
            parts += (text[at:start], marker(finder.rule))
            at = end
            taken.note(path[:_LONGEST_SHOWN], finder.rule)
        return "".join(parts) + text[at:] if parts else text


def _before(layers: list[Plain], start: int, end: int) -> tuple[int, int]:
    """Return where a range in the last of the layers was in the text before the first."""
    for layer in reversed(layers):
        start, end = layer.place(start), layer.place(end)
    return start, end


class _Walk:
    """One pass over the strings and keys of a text that holds JSON, whole or cut off, however nested."""

    def __init__(self, matcher: Matcher, text: str, shown: str, path: str, taken: Taken, depth: int) -> None:
        self._matcher = matcher
        self._root = shown
        self._below = len(path)
        self._text = text
        self._taken = taken
        self._depth = depth
        # The path up to each open bracket; and whether the bracket is an array's.
        self._open: list[tuple[str, bool]] = [(path, True)]
        # For each open bracket: the rule for the value of a pair whose name has been seen.
        self._named: list[str | None] = [None]
        self._path = path
        self._parts: list[str] = []
        self._copied = 0

    def run(self, at: int) -> str:
        """Return the text, changed from `at` on where something was found."""
        while mark := _MARK.search(self._text, at):
            at = mark.end()
            character = mark[0]
            if character == '"':
                at = self._string(mark.start())
            elif character in "{[":
                if len(self._open) > _MOST_OPEN:
                    raise TooDeep(f"more than {_MOST_OPEN} brackets are open")
                self._open.append((self._path, character == "["))
                self._named.append(None)
            elif character in "}]":
                if len(self._open) > 1:
                    self._path = self._open.pop()[0]
                    self._named.pop()
            elif character == ",":
                self._path = self._open[-1][0]
            if character in ":,[":
                at = self._number(at)
        if not self._parts:
            return self._text
        return "".join(self._parts) + self._text[self._copied :]

    def _number(self, at: int) -> int:
        """Mask a card's number, which may stand without quotes; what replaces it has them."""
        number = _NUMBER.match(self._text, skip_space(self._text, at))
        if number is None:
            return at
        masked = self._matcher.text(number[0], self._shown(), self._taken, depth=self._depth + 1)
        if masked is not number[0]:
            self._put(json.dumps(masked), number.start(), number.end())
        return number.end()

    def _string(self, start: int) -> int:
        """Examine the string that begins at `start`; return where to continue."""
        value, end = string_at(self._text, start)
        after = skip_space(self._text, end)
        if self._text[after : after + 1] == ":" and not self._open[-1][1]:
            return self._key(value, start, end, skip_space(self._text, after + 1))
        self._replace_string(value, start, end)
        return end

    def _key(self, key: str, start: int, end: int, value_at: int) -> int:
        self._path = self._matcher.below(self._open[-1][0], key)
        rule = self._matcher.rule_for(self._path) or self._rule_of_pair(alike(key), value_at)
        self._replace_string(key, start, end)
        if rule is None:
            return self._number(value_at)
        value_end = self._value_end(value_at)
        value = self._text[value_at:value_end]
        if value in _PLAIN or is_marker(value):
            return value_end
        self._put(f'"{marker(rule)}"', value_at, value_end)
        self._taken.note(self._shown(), rule)
        return value_end

    def _rule_of_pair(self, key: str, value_at: int) -> str | None:
        """Return the rule for the value of {"name": "cookie", "value": …}: by the name, which may also come next."""
        is_text = self._text[value_at : value_at + 1] == '"'
        if key in NAMING and is_text:
            name = string_at(self._text, value_at)[0]
            self._named[-1] = self._matcher.rule_for_named(self._open[-1][0], name)
        elif key in NAMED and self._named[-1] is not None:
            return self._named[-1]
        elif key in NAMED and is_text:
            follows = _NAME_NEXT.match(self._text, string_at(self._text, value_at)[1])
            return follows and self._matcher.rule_for_named(self._open[-1][0], follows[1])
        return None

    def _value_end(self, at: int) -> int:
        first = self._text[at : at + 1]
        if first == '"':
            return string_at(self._text, at)[1]
        if first not in ("{", "["):
            scalar = _SCALAR_ENDS.search(self._text, at)
            return scalar.start() if scalar else len(self._text)
        level = 0
        while mark := _MARK.search(self._text, at):
            at = mark.end()
            if mark[0] == '"':
                at = string_at(self._text, mark.start())[1]
            elif mark[0] in "{[":
                level += 1
            elif mark[0] in "}]":
                level -= 1
                if level == 0:
                    return at
        return len(self._text)

    def _replace_string(self, value: str, start: int, end: int) -> None:
        """Strings without escapes are left to the search over the whole text."""
        raw = self._text[start:end]
        if "\\" not in raw:
            return
        masked = self._matcher.text(
            value, self._shown(), self._taken, keys_below=self._path, depth=self._depth + 1
        )
        if masked is not value:
            escaped = json.dumps(masked, ensure_ascii="\\u" in raw or not is_encodable(masked))
            self._put(escaped if raw.endswith('"') and end - start > 1 else escaped[:-1], start, end)

    def _shown(self) -> str:
        """Return the path as it is listed: from where the text stands."""
        rest = self._path[self._below :].lstrip(".")
        return f"{self._root}.{rest}" if rest else self._root

    def _put(self, replacement: str, start: int, end: int) -> None:
        self._parts += (self._text[self._copied : start], replacement)
        self._copied = end


def _shortest(hints: set[str]) -> tuple[str, ...]:
    """Without those that hold another of them."""
    return tuple(
        sorted(hint for hint in hints if not any(other != hint and other in hint for other in hints))
    )
