"""Canonical JSON and the hash made of it: equal meaning, equal hash.

RFC 8785 with three additions that agents' data needs: integers keep all their digits, NaN and the infinities are
the strings 'NaN', 'Infinity' and '-Infinity', and text that is not valid Unicode counts as its bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from retrospan.schemas.json_encoding import json_encoder, quoted

_ENCODE = json_encoder(sort_keys=True)


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON of a JSON value (None, bool, int, float, str, list, dict) as UTF-8.

    Raises RecursionError when the value is nested deeper than the interpreter's stack, TypeError when it contains
    something that JSON cannot represent.
    """
    return _bytes_of(canonical_text(value))


def canonical_text(value: object) -> str:
    """Return the same as text, in which halves of surrogate pairs are still what they were."""
    if type(value) is str:
        return quoted(value)
    return _ENCODE(value) if _is_plain(value) else _spell(value)


def is_canonical(value: object, text: str) -> bool:
    """Tell of the commonest kinds of values whether their JSON, without white space, is already the canonical one:
    texts, and objects of texts and whole numbers whose keys are in order. Of others, and of text beyond ASCII, it tells
    nothing.
    """
    if not text.isascii() or "\\u" in text:
        return False
    if type(value) is dict:
        before = ""
        for key, item in value.items():
            of = type(item)
            if (
                type(key) is not str
                or key < before
                or (of is not str and of is not int and of is not bool and item is not None)
            ):
                return False
            before = key
        return True
    return type(value) is str


def _bytes_of(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            return text.encode(errors="surrogatepass")


def hash_of(value: object) -> str:
    """Return the first 16 bytes of SHA-256 of the canonical JSON as 32 hex digits."""
    return sha256(canonical_json(value)).hexdigest()[:32]


def hash_of_texts(value: object) -> str:
    """Return what `hash_of` does of a value that holds nothing but texts and None in lists and objects, every key
    ASCII.
    """
    return sha256(_bytes_of(_ENCODE(value))).hexdigest()[:32]


def hash_of_text(canonical: str) -> str:
    """Return what `hash_of` does of a value whose canonical JSON is at hand; raises UnicodeEncodeError for surrogates."""
    return sha256(canonical.encode()).hexdigest()[:32]


def hash_of_hashes(hashes: Iterable[str]) -> str:
    """Return what `hash_of` does of a list of hashes: of these it is known how they are written."""
    text = '","'.join(hashes)
    return sha256(f'["{text}"]'.encode() if text else b"[]").hexdigest()[:32]


#: The hash of a list of which nothing is there yet; only copies of it go on.
_BEGUN = sha256(b"[")


class GrowingHash:
    """Hashes lists of things as `hash_of_hashes` does their hashes.

    A list that begins with the whole of the one before is hashed from where that ended.
    """

    def __init__(self) -> None:
        self._before: list[int] = []
        self._state = _BEGUN

    def of(self, things: Sequence[int], hash_of_one: Callable[[int], str]) -> str:
        """Return the hash of a list of things, each named by a number that stays its own."""
        done = len(self._before)
        state = self._state
        if done > len(things) or things[:done] != self._before:
            done, state = 0, _BEGUN
        if added := things[done:]:
            state = state.copy()
            text = '","'.join(map(hash_of_one, added))
            state.update(f'{"," if done else ""}"{text}"'.encode())
        self._before, self._state = [*things], state
        whole = state.copy()
        whole.update(b"]")
        return whole.hexdigest()[:32]


def _is_plain(value: object) -> bool:
    """Tell whether json's own encoder already writes the canonical form: no keys that sort differently, and only floats
    whose digits both write.

    Every value that is stored comes through here, so the commonest kinds are told first and by their type alone.
    """
    kind = type(value)
    if kind is str or kind is int or value is None:
        return True
    if isinstance(value, dict):
        for key, item in value.items():
            # json sorts keys by code point, RFC 8785 by UTF-16 unit: they differ only from U+E000 on.
            if not isinstance(key, str) or not (key.isascii() or max(key) < "\ue000"):
                return False
            kind = type(item)
            if kind is not str and kind is not int and item is not None and not _is_plain(item):
                return False
        return True
    if isinstance(value, (list, tuple)):
        for item in value:  # noqa: SIM110 (all values come through here, and a generator costs more)
            if type(item) is not str and not _is_plain(item):
                return False
        return True
    if isinstance(value, float):
        digits = float.__repr__(value)
        return not (digits.endswith(".0") or "e" in digits or "n" in digits)  # nan and inf
    return True


def _spell(value: object) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=_utf16)
        return "{" + ",".join(f"{_ENCODE(str(key))}:{_spell(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_spell, value)) + "]"
    if isinstance(value, float):
        return _spell_number(value)
    return _ENCODE(value)


def _utf16(key: str) -> bytes:
    return str(key).encode("utf-16-be", errors="surrogatepass")


def _spell_number(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0:
        return "0"
    # repr gives the shortest digits that read back the same, as ECMAScript does; only the notation differs.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + int(exponent or 0)
    leading = len(digits) - len(digits.lstrip("0"))
    digits, point = digits.strip("0"), point - leading
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"
