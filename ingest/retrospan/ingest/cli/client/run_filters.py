"""Which runs are asked for: flags of `runs` as conditions, and the user's own SQL as one expression."""

from __future__ import annotations

import re

_COMPARED = re.compile(r"(?P<name>[^<>=]*?)\s*(?P<how>>=|<=|>|<|=)\s*(?P<value>.*)", re.DOTALL)
_DECIMAL = re.compile(r"\d{1,20}(?:\.\d{1,12})?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CLOSES = {"(": ")", "[": "]", "{": "}"}
#: What ends an expression, or hides its end: a statement more, comments, and text between dollars.
_ENDS = re.compile(r";|--|/\*|\*/|#|\$|\x00")
_QUOTES = "'\"`"


def cost_condition(text: str) -> tuple[str, str]:
    """Return the comparison and the amount of `--cost`: `0.5` and `>=0.5` are at least 0.5. Raises ValueError."""
    if text == "unknown":
        return "unknown", "0"
    found = _COMPARED.fullmatch(text.strip())
    how, value = (
        (found["how"], found["value"].strip()) if found and not found["name"] else (">=", text.strip())
    )
    if not _DECIMAL.fullmatch(value):
        raise ValueError("not an amount, such as 0.5, '<0.01' or unknown")
    return how, value


def score_condition(text: str) -> tuple[str, str, str]:
    """Return name, comparison and value of `--score`: `relevance`, `relevance>=0.8`, `verdict=pass`. Raises ValueError."""
    found = _COMPARED.fullmatch(text.strip())
    if found is None:
        if not text.strip():
            raise ValueError("empty: give the name of an evaluation")
        return text.strip(), "", ""
    name, how, value = found["name"], found["how"], found["value"].strip()
    if not name or not value or (how != "=" and not _NUMBER.fullmatch(value)):
        raise ValueError("not NAME, NAME>=NUMBER or NAME=LABEL")
    return name, how, value


def expression(text: str) -> str:
    """Return the SQL of `--where` if it is one expression, which can stand in brackets. Raises ValueError.

    What it may read is for the collector to say, as of every statement: this is only about where it ends.
    """
    open_brackets: list[str] = []
    place = 0
    if not text.strip():
        raise ValueError("empty: give a condition, such as 'steps > 10'")
    while place < len(text):
        character = text[place]
        if character in _QUOTES:
            place = _end_of_quoted(text, place)
            continue
        if ended := _ENDS.match(text, place):
            raise ValueError(
                f"{ended[0]!r} cannot stand in a condition; inside a text it can, between quotes"
            )
        if character in _CLOSES:
            open_brackets.append(_CLOSES[character])
        elif character in ")]}" and (not open_brackets or open_brackets.pop() != character):
            raise ValueError(f"{character!r} closes nothing that is open")
        place += 1
    if open_brackets:
        raise ValueError(f"{open_brackets[-1]!r} is missing")
    return text.strip()


def _end_of_quoted(text: str, place: int) -> int:
    quote = text[place]
    at = place + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == quote:
            return at + 1  # a doubled quote begins the next
        else:
            at += 1
    raise ValueError(f"{quote} is not closed")
