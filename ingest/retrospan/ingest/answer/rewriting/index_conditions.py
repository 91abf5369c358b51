"""Conditions that indexes can answer, beside the conditions that a statement has: which traces or runs may fulfil them.

Each function looks at one place of a statement's words. What it returns is implied by the condition there, so that
joining the two changes no row. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from retrospan.ingest.answer.guard.allowlist import DATABASE, word_set
from retrospan.ingest.answer.guard.lexer import Token

#: What may stand after a condition.
AFTER = word_set("and or group order limit offset settings format having union window qualify")
_RUNS_OF_VALUES = f"SELECT run_id FROM {DATABASE}.canon_values"
#: A word as the index `by_folded_word` has it, whole in a pattern: between ASCII that is neither part of a word
#: nor a wildcard, for other letters belong to words. And what may be a part of one. Of either so many are looked for.
_BESIDE_WORDS = r"\x00-$&-/:-@\[-^`{-\x7f"
_WHOLE_WORD = re.compile(rf"(?<=[{_BESIDE_WORDS}])[0-9A-Za-z]+(?=[{_BESIDE_WORDS}])")
_PARTS_OF_WORDS, _MOST_PARTS, _MOST_WORDS = re.compile(r"[0-9A-Za-z]{3,}"), 2, 8
#: The longest value that the index tells from others: it holds this much of each, in bytes.
_INDEXED_BYTES = 200
#: How numbers that JSON does not have, and missing values, are shown; in the table they are written otherwise.
_WORDS = frozenset({"NaN", "Infinity", "-Infinity", "null"})


def traces_of(kept: Sequence[Token], at: int, parameters: Mapping[str, str]) -> tuple[int, str] | None:
    """Return how many tokens a condition has that begins here, and one on the traces that follows; None for no such."""
    column = kept[at].value if kept[at].kind in ("word", "name") else ""
    if column in ("run_id", "span_id"):
        place = at + 1
    elif column == "attributes" and _is_key(kept, at):
        place = at + 4
    else:
        return None
    if place + 1 >= len(kept) or not kept[place].is_mark("="):
        return None
    value = _value(kept, place + 1, parameters)
    if value is None:
        return None
    size, text, told = value
    if not told or not _ends(kept, place + 1 + size):
        return None
    if column == "attributes":
        if told in _WORDS or told[0] in "[{" or len(told.encode()) > _INDEXED_BYTES or "\\" in told:
            return None
        traces = _traces_of_attribute(kept[at + 2].text, text, told)
    else:
        table = "canon_spans" if column == "run_id" else "raw_spans"
        traces = f"SELECT trace_id FROM {DATABASE}.{table} WHERE {column} = {text}"
    return place + 1 + size - at, f"trace_id IN ({traces})"


def runs_of_message(kept: Sequence[Token], at: int, parameters: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the same of `content LIKE …` of the view messages, by the index `by_folded_word` of canon_values."""
    condition = _like("content", kept, at, parameters)
    if condition is None:
        return None
    size, like, text, told = condition
    return size, f"run_id IN ({_runs_of_values(like, text, told)})"


def runs_of_text(kept: Sequence[Token], at: int, parameters: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the same of `text LIKE …` of the view texts: what tools were given and gave is looked through."""
    condition = _like("text", kept, at, parameters)
    if condition is None:
        return None
    size, like, text, told = condition
    of_tools = " OR ".join(f"{column} {like} {text}" for column in ("arguments", "result", "error_message"))
    runs = " UNION ALL ".join(
        (
            _runs_of_values(like, text, told),
            f"SELECT run_id FROM {DATABASE}.canon_tool_calls WHERE {of_tools}",
            f"SELECT run_id FROM {DATABASE}.canon_model_calls WHERE error_message {like} {text}",
        )
    )
    return size, f"run_id IN ({runs})"


def _like(
    column: str, kept: Sequence[Token], at: int, parameters: Mapping[str, str]
) -> tuple[int, str, str, str] | None:
    """Return of a condition `column LIKE …` how many tokens it has, the operator, the pattern's text and what it says."""
    if kept[at].value != column or kept[at].kind not in ("word", "name") or at + 2 >= len(kept):
        return None
    if not kept[at + 1].is_word("like", "ilike"):
        return None
    value = _value(kept, at + 2, parameters)
    if value is None or not _ends(kept, at + 2 + value[0]):
        return None
    size, text, told = value
    return 2 + size, kept[at + 1].folded.upper(), text, told


def _runs_of_values(like: str, text: str, told: str) -> str:
    """Return the SELECT of the runs that have a value like that."""
    return f"{_RUNS_OF_VALUES} WHERE {' AND '.join([f'json {like} {text}', *_folded(told)])}"


def _folded(told: str) -> list[str]:
    """Return conditions on words that whatever fits a pattern fulfils: what has a text has its words, and parts of them.

    Only on words that ILIKE finds in nothing else than `lower` does: to it the sign of Kelvin is a k as well, and in a
    pattern with a wildcard inside the long s an s. Measured over all of Unicode.
    """
    if "\\" in told:
        return []
    unsure = "ks" if any(wildcard in told.strip("%") for wildcard in "%_") else "k"
    text = "".join(letter.lower() if letter.isascii() else letter for letter in told)

    def sure(words: Iterable[str]) -> list[str]:
        return [word for word in dict.fromkeys(words) if not any(letter in word for letter in unsure)]

    if words := sure(_WHOLE_WORD.findall(text)):
        return [f"hasAllTokens(lower(json), '{' '.join(words[:_MOST_WORDS])}')"]
    parts = sorted(sorted(sure(_PARTS_OF_WORDS.findall(text))), key=len, reverse=True)
    return [f"lower(json) LIKE '%{part}%'" for part in parts[:_MOST_PARTS]]


def _is_key(kept: Sequence[Token], at: int) -> bool:
    key = kept[at + 1 : at + 4]
    return len(key) == 3 and key[0].is_mark("[") and key[1].kind == "string" and key[2].is_mark("]")


def _value(kept: Sequence[Token], at: int, parameters: Mapping[str, str]) -> tuple[int, str, str] | None:
    """Return the number of tokens, their text and what it says; None when it is not one text."""
    if kept[at].kind == "string":
        return 1, kept[at].text, kept[at].value
    mark = kept[at : at + 5]
    if len(mark) == 5 and mark[0].is_mark("{") and mark[2].is_mark(":") and mark[4].is_mark("}"):
        told = parameters.get(mark[1].value)
        if told is not None and mark[3].value == "String":
            return 5, "".join(token.text for token in mark), told
    return None


def _traces_of_attribute(key: str, value: str, told: str) -> str:
    """Return the SELECT of the traces that may hold the attribute, by the index `by_attribute` of raw_spans."""
    texts = [value]
    if told.endswith(".0"):
        # A double that is a whole number has its point only where it is shown.
        texts.append(f"substring({value}, 1, {len(told.encode()) - 2})")
    hashes = "arrayMap((k, v) -> sipHash64(k, substring(v, 1, 200)), attributes.key, attributes.value)"
    found = " OR ".join(f"has({hashes}, sipHash64({key}, {text}))" for text in texts)
    return f"SELECT trace_id FROM {DATABASE}.raw_spans WHERE {found}"


def _ends(kept: Sequence[Token], place: int) -> bool:
    """Return whether a condition has ended before this place."""
    after = kept[place] if place < len(kept) else None
    return after is None or after.is_mark(")") or after.is_word(*AFTER)
