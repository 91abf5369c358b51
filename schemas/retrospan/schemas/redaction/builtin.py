"""The built-in rules: credentials of common services, tokens, private keys, e-mail addresses, payment cards."""

from __future__ import annotations

import re

from retrospan.schemas.redaction.finding import Finder, Spans, expression
from retrospan.schemas.redaction.forms import ASSIGNED, COMMANDS, HEADERS, IN_QUERY
from retrospan.schemas.redaction.prefixes import API_KEYS

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
    """Return whether the digits are a payment card's: a known first digit, a length of its kind, and Luhn's sum."""
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

_PEM = re.compile(r"-----BEGIN[A-Z0-9 _-]{0,100}PRIVATE KEY(?: BLOCK)?-----")


def _private_keys(text: str) -> Spans:
    """From the first line to the end of the last; to the end of the text where there is no last line."""
    at = 0
    while match := _PEM.search(text, at):
        last = text.find("-----END", match.end())
        close = -1 if last < 0 else text.find("KEY", last, last + 60)
        dashes = -1 if close < 0 else text.find("-----", close, close + 20)
        at = len(text) if dashes < 0 else dashes + 5
        yield match.start(), at


#: In the order in which they are tried: what one takes out the next does not see.
BUILTIN: dict[str, tuple[Finder, ...]] = {
    "private-key": (Finder("private-key", ("private key",), _private_keys),),
    "api-key": API_KEYS,
    "jwt": _TOKENS[2:],
    "bearer": _TOKENS[:2],
    "url-password": (_IN_URL,),
    "header": HEADERS,
    "url-parameter": IN_QUERY,
    "command-line": COMMANDS,
    "assignment": ASSIGNED,
    "email": (_EMAIL,),
    "card": (_CARD,),
}

#: The rules about persons; the others are about secrets.
PERSONAL = ("email", "card")

#: Names under which credentials travel, in attributes and in JSON alike. `-` and `_` are the same here.
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
        "x_auth_token",
        "x_access_token",
        "x_amz_security_token",
        "private_token",
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
