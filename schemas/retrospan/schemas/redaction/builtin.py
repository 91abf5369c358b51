"""The built-in rules: credentials of common services, tokens, private keys, e-mail addresses, payment cards.

Python's `re` backtracks, so each expression here is linear by construction: every repeat is either bounded, or the
last thing in its expression (then nothing after it can fail), or held to one start per run by what stands before
it. `tests/redaction` feeds each of them hostile text of several sizes.

A rule is one or more finders. `hints` are lower-case texts of which one is in every match: most text has none of
them, and is passed over at the speed of `in`. `loose` is a shorter expression that finds at least every match even
where the text is still escaped as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Spans: TypeAlias = Iterator[tuple[int, int]]

# What stands before a secret: nothing that could belong to the same word. `\n` as two characters is no word.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[abfnrtv]))"


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds one kind of secret: `find` yields the ranges to take out."""

    rule: str
    hints: tuple[str, ...]
    find: Callable[[str], Spans]
    loose: re.Pattern[bytes] | None = None


def expression(
    rule: str,
    hints: tuple[str, ...],
    pattern: str,
    *,
    flags: int = 0,
    holds: Callable[[str], bool] | None = None,
    loose: bytes = b"",
) -> Finder:
    """A finder from an expression: its group 1 is taken out, or all of it; `holds` has the last word."""
    compiled = re.compile(pattern, re.ASCII | flags)
    group = 1 if compiled.groups else 0

    def find(text: str) -> Spans:
        for match in compiled.finditer(text):
            if holds is None or holds(match[group]):
                yield match.span(group)

    return Finder(rule, hints, find, re.compile(loose, flags & re.IGNORECASE) if loose else None)


def _key(prefix: str, allowed: str = "A-Za-z0-9", least: int = 20, *, word: bool = False) -> Finder:
    """A credential that its prefix gives away; `word`: the prefix is also the end of ordinary words."""
    tail = f"{re.escape(prefix)}[{allowed}]{{{least},}}"
    start = _START if word else ""
    return expression("api-key", (prefix.lower(),), start + tail, loose=tail.encode())


_BASE64URL = "A-Za-z0-9_-"
_API_KEYS = (
    _key("sk-", _BASE64URL, word=True),  # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse
    _key("pk-lf-", _BASE64URL),
    _key("AKIA", "A-Z0-9", 16),
    _key("ASIA", "A-Z0-9", 16),
    _key("AIza", _BASE64URL, 35),
    _key("ya29.", _BASE64URL),
    _key("GOCSPX-", _BASE64URL),
    *(_key(f"gh{kind}_", least=36) for kind in "pousr"),
    _key("github_pat_", "A-Za-z0-9_", 22),
    _key("glpat-", _BASE64URL),
    *(_key(f"xox{kind}-", "A-Za-z0-9-", 10) for kind in "abeoprs"),
    _key("xapp-", "A-Za-z0-9-"),
    *(_key(f"{kind}_{mode}_", least=16) for kind in ("sk", "rk") for mode in ("live", "test")),
    _key("whsec_", "A-Za-z0-9+=", 24),
    _key("hf_", least=30),
    _key("gsk_", least=40),
    _key("xai-", least=40),
    _key("pplx-", least=40),
    _key("nvapi-", _BASE64URL, 40),
    _key("r8_", least=30),
    _key("tvly-", _BASE64URL),
    _key("lsv2_", "A-Za-z0-9_", 30),
    _key("pcsk_", "A-Za-z0-9_", 30),
    _key("npm_", least=36),
    _key("pypi-", _BASE64URL, 50),
    _key("dop_v1_", "a-f0-9", 40),
    _key("dapi", "a-f0-9", 32),
    expression("api-key", ("sg.",), r"SG\.[\w-]{16,64}\.[\w-]{16,}", loose=rb"SG\.[\w-]{16,64}\.[\w-]{16}"),
)

_TOKENS = (
    expression(
        "bearer",
        ("bearer",),
        r"bearer[ \t]{1,8}([A-Za-z0-9._~+/=-]{8,})",
        flags=re.IGNORECASE,
        holds=lambda token: len(token) >= 24 or any(character.isdigit() for character in token),
    ),
    expression(
        "bearer",
        ("basic",),
        r"authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?basic[ \t]{1,8}([A-Za-z0-9+/=]{4,})",
        flags=re.IGNORECASE,
    ),
    # The header is bounded, and its repeat never gives back: a run of false starts stays cheap.
    expression(
        "jwt",
        (".eyj",),
        r"(?:(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,512}+)?\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        loose=rb"\.eyJ[A-Za-z0-9_-]{8}",
    ),
)

_ASSIGNED = expression(
    "assignment",
    ("passw", "pwd", "secret", "api_key", "api-key", "apikey", "access_token", "auth_token"),
    r"(?:password|passwd|pwd|secret(?:_?access)?(?:_?key)?|api[_-]?key|(?:access|auth)_token)"
    r"[\\\"']{0,6}[ \t]{0,4}[:=][ \t]{0,4}[\\\"']{0,6}([^\s\"',;&\[\]{}()<>\\]{6,})",
    flags=re.IGNORECASE,
)
_IN_URL = expression(
    "url-password",
    ("://", ":\\/"),
    r"://[^\s/:@\"']{0,100}+:([^\s/@\"']{1,200}+)@",
    loose=rb":\\?/\\?/[^\s/:@\"']{0,100}+:[^\s/@\"']{1,200}+@",
)

_EMAIL = expression(
    "email",
    ("@",),
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}",
    loose=rb"@[A-Za-z0-9-]{1,63}\.[A-Za-z0-9]",
)

_CARD_LENGTHS = {"4": (13, 16, 19), "5": (16,), "2": (16,), "6": (16, 17, 18, 19)}


def is_card_number(text: str) -> bool:
    """Whether the digits are a payment card's: a known first digit, a length of its kind, and Luhn's sum."""
    digits = [int(character) for character in text if character.isdigit()]
    first, second = str(digits[0]), digits[1]
    lengths: tuple[int, ...] = _CARD_LENGTHS.get(first, ())
    if first == "3":
        lengths = (15,) if second in (4, 7) else (14, 16)
    elif (first == "5" and not 1 <= second <= 5) or (first == "2" and not 2 <= second <= 7):
        lengths = ()
    if len(digits) not in lengths or len(set(digits)) == 1:
        return False
    doubled = [digit if place % 2 == 0 else digit * 2 for place, digit in enumerate(reversed(digits))]
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


_CARD = expression(
    "card",
    (),
    r"(?:(?<![0-9A-Za-z])|(?<=\\[abfnrtv]))(?<![0-9]\.)[2-6](?:[ -]?[0-9]){12,18}(?![0-9A-Za-z])",
    holds=is_card_number,
    loose=rb"[2-6](?:[ -]?[0-9]){12}",
)

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")


def _private_keys(text: str) -> Spans:
    """From the first line to the end of the last; to the end of the text where there is no last line."""
    at = 0
    while match := _PEM.search(text, at):
        last = text.find("-----END", match.end())
        close = -1 if last < 0 else text.find("KEY", last, last + 60)
        dashes = -1 if close < 0 else text.find("-----", close, close + 20)
        at = len(text) if dashes < 0 else dashes + 5
        yield match.start(), at


# In the order in which they are tried: what one takes out the next does not see.
BUILTIN: dict[str, tuple[Finder, ...]] = {
    "private-key": (Finder("private-key", ("private key",), _private_keys),),
    "api-key": _API_KEYS,
    "jwt": _TOKENS[2:],
    "bearer": _TOKENS[:2],
    "url-password": (_IN_URL,),
    "assignment": (_ASSIGNED,),
    "email": (_EMAIL,),
    "card": (_CARD,),
}

# The rules about persons; the others are about secrets.
PERSONAL = ("email", "card")

# Names under which credentials travel, in attributes and in JSON alike. `-` and `_` are the same here.
BUILTIN_KEYS: dict[str, tuple[str, ...]] = {
    "credential": (
        "authorization",
        "proxy_authorization",
        "cookie",
        "set_cookie",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "client_secret",
        "clientsecret",
        "secret_key",
        "secretkey",
        "secret_access_key",
        "secretaccesskey",
        "aws_secret_access_key",
        "api_key",
        "apikey",
        "x_api_key",
        "x_goog_api_key",
        "access_token",
        "accesstoken",
        "refresh_token",
        "refreshtoken",
        "id_token",
        "auth_token",
        "private_key",
        "privatekey",
    )
}
