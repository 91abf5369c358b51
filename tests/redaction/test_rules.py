"""The rules file, and which expressions it may hold."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.schemas.errors import ConfigError
from retrospan.schemas.redaction.builtin import BUILTIN, BUILTIN_KEYS
from retrospan.schemas.redaction.matching import Matcher, Taken
from retrospan.schemas.redaction.patterns import PatternRefused, accept
from retrospan.schemas.redaction.rules import Rules

ACCEPTED = {
    r"ACME-[0-9]{6,10}": "say ACME-1234567 twice",
    r"\bKD\d{8}\b": "KD12345678",
    r"(?i)customer\s{0,4}[:=]\s{0,4}\S+": "CUSTOMER : abc",
    r"(?:foo|bar|qux)-\w+": "bar-x",
    r"[^\s,;@]{1,20}@corp": "a b@corp",
    r"a{2}b?c": "aac",
    r"token=(?:[A-Z][a-z]{1,5}){2,4}": "token=AbCdEf",
    r"[\]\-\\x]{3}": "]-\\",
    r"größe \d+": "größe 12",
    r"^secret .{1,40}$": "secret abc",
    r"\{[a-f0-9]{32}\}": "{" + "0" * 32 + "}",
    r"x\w+\b": "xyz.",
}  # fmt: skip
REFUSED = {
    r"(a+)+$": "repeat",
    r"(a|[ab])*b": "same character",
    r"(a|ab)c": "begins another",
    r"\w+@corp": "upper bound",
    r"a.*b": "upper bound",
    r"[a-z]{1,5}[a-m]": "no character marks",
    r"a?a": "no character marks",
    r"a{1,5}b?a": "no character marks",
    r"(?=a)b": "supported",
    r"(?P<n>a)(?P=n)": "supported",
    r"(a)\1": "supported",
    r"a*?": "lazy",
    r"a++": "lazy",
    r"(ab": "not closed",
    r"[ab": "not closed",
    r"ab)": "closing bracket",
    r"a*": "empty text",
    r"": "empty text",
    r"a{2000}": "characters in vain",
    r"(?:a{900}b){900}": "characters in vain",
    r"(?:x|)y": "may be empty",
    r"(?:x?){3}": "may be empty",
    r"[a-z]+$": "without an upper bound",
    r"[a-z-]{1,9}\b": "several places",
    r"a^b": "cannot stand",
    r"[[:alpha:]]": "class in a class",
    r"a{x}": "not a repeat",
    "\\": "backslash",
    "a" * 1001: "longer",
    "(" * 20 + "a" + ")" * 20: "too deeply",
}


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_an_expression_that_one_character_decides_is_accepted(pattern: str) -> None:
    accepted = accept(pattern)
    plain = re.compile(pattern, re.ASCII)
    assert [each.span() for each in accepted.compiled.finditer(ACCEPTED[pattern])] == [
        each.span() for each in plain.finditer(ACCEPTED[pattern])
    ]


@pytest.mark.parametrize(("pattern", "reason"), REFUSED.items(), ids=[pattern[:12] for pattern in REFUSED])
@pytest.mark.requirement("R46")
def test_an_expression_that_might_go_back_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(PatternRefused, match=reason):
        accept(pattern)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", ".", "[ab]", "(?:", ")", "|", "*", "+", "?", "{1,9}", "{3}", "{2,}", "$", r"\b", r"\w"]), max_size=9),
    st.sampled_from(["a", "ab", "aab", "ba", "a!", "ab!"]),
)  # fmt: skip
@pytest.mark.requirement("R46")
def test_whatever_is_accepted_is_fast_on_whatever_text(pieces: list[str], unit: str) -> None:
    try:
        accepted = accept("".join(pieces))
    except PatternRefused:
        return
    text = unit * 20_000 + "!"
    began = time.process_time()
    literal = accepted.literal
    for match in accepted.compiled.finditer(text):
        assert literal in match[0]
    assert time.process_time() - began < 30


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    return file


def test_a_file_chooses_among_the_built_in_and_adds_its_own(tmp_path: Path) -> None:
    rules = Rules.read(write(tmp_path, """
        builtin = ["jwt", "credential"]
        [[key]]
        id = "customer"
        match = "customer_id"
        [[pattern]]
        id = "ticket"
        match = 'ACME-[0-9]{6,10}'
        ignore_case = true
        """))  # fmt: skip
    matcher = Matcher(rules)
    taken = Taken()
    text = 'acme-123456 jane@example.org {"customer_id": 7, "password": "x1"}'
    assert matcher.text(text, "p", taken) == (
        '[redacted:ticket] jane@example.org {"customer_id": "[redacted:customer]", "password": "[redacted:credential]"}'
    )
    assert set(taken.pairs) == {("p", "ticket"), ("p.customer_id", "customer"), ("p.password", "credential")}
    assert matcher.may_hold(b"xx ACME-123456")
    assert not matcher.may_hold(b"jane@example.org")


def test_without_a_line_for_them_all_built_in_rules_hold(tmp_path: Path) -> None:
    rules = Rules.read(write(tmp_path, ""))
    assert {finder.rule for finder in rules.finders} == set(BUILTIN)
    assert rules == Rules.builtin()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("buildin = []", "unknown key 'buildin'"),
        ('builtin = ["jwd"]', "there is no rule 'jwd'; there are private-key, "),
        ("builtin = 1", "list of texts"),
        ('[[key]]\nid = "A b"\nmatch = "x"', "a rule's id"),
        ('[[key]]\nid = "a"\nmatch = [1]', "rule 'a': match is a list of texts"),
        ('[[key]]\nid = "a"\nmatch = ""', "1 to 200 characters"),
        ('[[key]]\nid = "jwt"\nmatch = "x"', "the id 'jwt' is used twice"),
        ('[[pattern]]\nid = "a"\nmatch = "(a+)+$"', r"rule 'a': '(a+)+$' is refused: "),
        ('[[pattern]]\nid = "a"\nmatch = 3', "match is a text"),
        ('key = 3', r"write [[key]]"),
        ("=", "is not TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_reported(tmp_path: Path, text: str, reason: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError, match=re.escape(reason)) as refused:
        Rules.read(file)
    assert str(file) in str(refused.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Rules.read(tmp_path / "none.toml")


PAGE = (Path(__file__).parents[2] / "docs/redaction.md").read_text(encoding="utf-8")


def test_the_page_lists_the_built_in_rules() -> None:
    section = PAGE.partition("## Built-in rules")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE) == [*BUILTIN, *BUILTIN_KEYS]


def test_the_rules_on_the_page_work(tmp_path: Path) -> None:
    section = PAGE.partition("## Rules of your own")[2]
    matcher = Matcher(Rules.read(write(tmp_path, section.partition("```toml\n")[2].partition("```")[0])))
    text = '{"order": {"customer_id": 7}, "a": "acme-123456"}'
    assert matcher.text(text, "", Taken()) == (
        '{"order": {"customer_id": "[redacted:customer]"}, "a": "[redacted:ticket]"}'
    )
    for pattern in (r"[^\s@]{1,64}@x", r"x\s{0,4}:", r"token=\S+"):
        accept(pattern)
    for pattern in (r"(a+)+", r"\w+@", r"x.*y", r"\S{1,64}@", r"x\s*:"):
        with pytest.raises(PatternRefused):
            accept(pattern)
