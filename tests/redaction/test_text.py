"""What is taken out of text, what stays, and that hostile text costs no more than its length."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redaction_secrets import HARMLESS, PLANTED
from sampling import one_in

from retrospan.schemas.redaction.builtin import BUILTIN, is_card_number
from retrospan.schemas.redaction.matching import MOST_NESTED, Matcher, Taken, TooDeep
from retrospan.schemas.redaction.rules import Rules

MATCHER = Matcher(Rules.builtin())


def redact(text: str, matcher: Matcher = MATCHER, below: str = "") -> tuple[str, set[tuple[str, str]]]:
    taken = Taken()
    return matcher.text(text, "x", taken, keys_below=below), set(taken.pairs)


def test_every_rule_has_a_planted_secret() -> None:
    assert {rule for rule, _, _ in PLANTED} == set(BUILTIN)


@pytest.mark.parametrize(
    ("rule", "text", "secret"), PLANTED, ids=[f"{rule}-{text[:9]}" for rule, text, _ in PLANTED]
)
@pytest.mark.parametrize("around", ["{}", "before {} after", "({})", 'x="{}"', "línea\\n{}", "{}\nnext"])
def test_a_secret_is_found_whatever_stands_around_it(rule: str, text: str, secret: str, around: str) -> None:
    found, pairs = redact(around.format(text))
    assert secret not in found
    assert ("x", rule) in pairs
    assert f"[redacted:{rule}]" in found
    assert MATCHER.may_hold(around.format(text).encode())


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays_the_same_object(text: str) -> None:
    assert MATCHER.text(text, "x", Taken()) is text


@pytest.mark.parametrize(
    ("rule", "text", "secret"), PLANTED, ids=[f"{rule}-{text[:9]}" for rule, text, _ in PLANTED]
)
@pytest.mark.parametrize("levels", [1, 2, 4])
@pytest.mark.requirement("R47")
def test_a_secret_in_json_in_strings_is_found(rule: str, text: str, secret: str, levels: int) -> None:
    document = json.dumps({"said": ["\n" + text, 7], "n": 1.50})
    for _ in range(levels - 1):
        document = json.dumps({"inner": document})
    found, pairs = redact(document)
    assert secret not in found
    assert rule in {rule for _, rule in pairs}
    for _ in range(levels - 1):
        document = json.loads(document)["inner"]
        found = json.loads(found)["inner"]
    assert json.loads(found)["n"] == 1.50


def test_every_character_may_be_escaped() -> None:
    text = "".join(f"\\u{ord(character):04x}" for character in "sk-" + "a1" * 20)
    found, _ = redact('{"k":"' + text + '"}')
    assert found == '{"k":"[redacted:api-key]"}'
    assert MATCHER.may_hold(text.encode())


def test_keys_of_json_are_matched_by_name_and_their_values_go_whole() -> None:
    text = (
        '{"a": {"Api-Key": {"deep": ["v1", {"w": 2}]}, "n": 1e400}, "password" : 12345 , "dup": 1, "dup": 2}'
    )
    found, pairs = redact(text)
    assert found == (
        '{"a": {"Api-Key": "[redacted:credential]", "n": 1e400}, "password" : "[redacted:credential]" , '
        '"dup": 1, "dup": 2}'
    )
    assert pairs == {("x.a.Api-Key", "credential"), ("x.password", "credential")}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"password": "cut of', '{"password": "[redacted:credential]"'),
        ('{"password": ["cut", "of', '{"password": "[redacted:credential]"'),
        ('says {"password": "x1"} and {"b": 1}', 'says {"password": "[redacted:credential]"} and {"b": 1}'),
        ('{"pass\\u0077ord": "x1"}', '{"pass\\u0077ord": "[redacted:credential]"}'),
        ('{"a": "\\"q\\" mail@example.org cut', '{"a": "\\"q\\" [redacted:email] cut'),
        ('{"card": 4111111111111111, "b": [4111111111111111]}', '{"card": "[redacted:card]", "b": ["[redacted:card]"]}'),
    ],
)  # fmt: skip
def test_json_is_edited_in_place_whole_or_cut_off(text: str, wanted: str) -> None:
    assert redact(text)[0] == wanted


def test_a_secret_in_a_key_is_not_listed_either() -> None:
    found, pairs = redact('{"jane@example.org": {"password": "x1"}}')
    assert found == '{"[redacted:email]": {"password": "[redacted:credential]"}}'
    assert pairs == {("x.[redacted:email].password", "credential"), ("x", "email")}


def test_globs_name_the_last_key_or_the_whole_path() -> None:
    rules = Rules.of_tree({
        "builtin": [],
        "key": [{"id": "one", "match": ["iban*"]}, {"id": "two", "match": ["tool.arguments.*.owner", "plan.name"]}],
    })  # fmt: skip
    matcher = Matcher(rules)
    text = '{"IBAN-1": "x1", "owner": "y", "deep": [{"owner": "x2", "iba": "z"}]}'
    assert redact(text, matcher, below="tool.arguments")[0] == (
        '{"IBAN-1": "[redacted:one]", "owner": "y", "deep": [{"owner": "[redacted:two]", "iba": "z"}]}'
    )
    assert matcher.rule_for("plan.name") == "two"
    assert matcher.rule_for("plan.name.c") is None
    assert not matcher.may_hold(b"nothing of it")
    assert (
        matcher.text('{"owner": 5}', "x", Taken(), keys_below="tool.arguments.a")
        == '{"owner": "[redacted:two]"}'
    )


def test_what_was_redacted_before_is_not_redacted_again() -> None:
    for _, text, _ in PLANTED:
        once, _ = redact(json.dumps({"a": text, "password": text}))
        assert redact(once) == (once, set())


def test_json_in_json_without_end_is_refused() -> None:
    text = '{"a\\n": "x"}'
    for _ in range(MOST_NESTED):
        text = json.dumps({"a": text})
    with pytest.raises(TooDeep):
        redact(text)


@pytest.mark.parametrize(
    ("number", "holds"),
    [
        ("4111111111111111", True), ("4222222222222", True), ("5555555555554444", True), ("2223003122003222", True),
        ("378282246310005", True), ("30569309025904", True), ("3530111333300000", True), ("6011111111111117", True),
        ("4111111111111112", False), ("411111111111111", False), ("5655555555554444", False), ("4444444444444444", False),
    ],
)  # fmt: skip
def test_card_numbers(number: str, holds: bool) -> None:
    assert is_card_number(number) is holds


@given(
    st.lists(
        st.one_of(
            st.sampled_from([text for _, text, _ in PLANTED]),
            st.sampled_from(['{"', '":"', '"}', "\\", "\\n", '\\"', "[", "]", ",", "password", "\x00", "\udcff", " ", "é"]),
            st.text(max_size=8),
        ),
        max_size=12,
    ),
    st.integers(0, 3),
    st.booleans(),
)  # fmt: skip
def test_the_first_look_at_bytes_never_misses_what_the_second_finds(
    pieces: list[str], levels: int, ascii: bool
) -> None:
    text = "".join(pieces)
    for _ in range(levels):
        text = json.dumps({"a": text}, ensure_ascii=ascii)
    try:
        data = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return
    taken = Taken()
    found = MATCHER.text(text, "x", taken)
    assert (found is text) == (not taken)
    assert MATCHER.may_hold(data) or found is text


HOSTILE = (
    "a", "a.", "sk-", "_eyJ", ".eyJ", "eyJaaaaaaaa", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY", "://a:",
    "://" + "a" * 99, "a@", "@a.", "@" + "a." * 6, "4 ", "41", "password=", "password='", "bearer ", "Bearer a",
    "authorization: basic ", "SG.aaaaaaaaaaaaaaaa.", "xoxb-", '{"\\"', '{"a\\x":"\\x",', '{"password":{', '{"a":',
    '{"password":[', "[[", '["\\', "\\u0041", '"', "}", '{"password" ', "-----END", "{'password': ", " ", "\\",
)  # fmt: skip


@pytest.mark.parametrize("piece", one_in(4, HOSTILE))
@pytest.mark.requirement("R46")
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    """A megabyte: what goes back over its text would need hours, what does not needs half a second."""
    text = '["\\' + piece * (1_000_000 // len(piece))
    began = time.process_time()
    try:
        MATCHER.text(text, "x", Taken())
    except TooDeep:
        pass
    MATCHER.may_hold(text.encode())
    assert time.process_time() - began < 60
