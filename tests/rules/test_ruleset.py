"""Mutation rules: what a file may say, how errors name the place, and what a rule makes of a call."""

from __future__ import annotations

from pathlib import Path as File

import pytest

from retrospan.ingest.rules.paths import MISSING, Path
from retrospan.ingest.rules.rule import Called, Missed, Statement, result_of
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.schemas.errors import ConfigError

RECORDS = """
[[rule]]
name = "records"
tool = "update_record"
entity = "record"
id = "arguments.record_id"
field = "arguments.field"
before = "result.before"
after = "result.after"
"""
_HEAD = '[[rule]]\nname = "r"\ntool = "t"\nentity = "e"\nid = "arguments.id"\n'


def _call(arguments: object, result: object, **about: str) -> Called:
    return Called(
        tool=about.get("tool", "t"),
        agent=about.get("agent"),
        service=about.get("service"),
        status=about.get("status", "ok"),
        arguments=arguments,
        result=result,
    )


def _said(rules: str, call: Called) -> list[tuple[str, str, object, bool]]:
    found = [
        each for each in Ruleset.parse(rules, "rules.toml").read_call(call) if isinstance(each, Statement)
    ]
    return [(each.entity_id, each.field, each.value, each.held) for each in found]


def _missed(rules: str, call: Called) -> list[str]:
    found = [each for each in Ruleset.parse(rules, "rules.toml").read_call(call) if isinstance(each, Missed)]
    return [f"{each.key}: {each.reason}" for each in found]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("arguments.a.b", 1),
        ("$.arguments.a.b", 1),
        ('arguments["x y"]', "z"),
        ("arguments['x y']", "z"),
        ("arguments.rows[1].id", "second"),
        ("arguments.rows[-1].id", "second"),
        ("arguments.rows[2].id", MISSING),
        ("arguments.rows.id", MISSING),
        ("arguments.a.b.c", MISSING),
        ("result", "plain"),
        ("result.x", MISSING),
        ("arguments.text.inner", True),
        ("=fixed text", "fixed text"),
        ("arguments.null", None),
    ],
)
def test_a_path_leads_to_a_value(path: str, found: object) -> None:
    roots = {
        "arguments": {
            "a": {"b": 1},
            "x y": "z",
            "rows": [{"id": "first"}, {"id": "second"}],
            "text": '{"inner": true}',
            "null": None,
        },
        "result": "plain",
    }
    assert Path.parse(path).follow(roots) == found


@pytest.mark.parametrize(
    "path", ["", "=", "argument.id", "arguments.", "arguments..a", "arguments[x]", "arguments a"]
)
def test_what_is_not_a_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"begin|followed|cannot be read"):
        Path.parse(path)


def test_one_field_that_the_call_names() -> None:
    call = _call(
        {"record_id": "C-1", "field": "status"},
        {"before": "open", "after": "closed"},
        tool="update_record",
    )
    assert _said(RECORDS, call) == [("C-1", "status", "open", True), ("C-1", "status", "closed", False)]
    sources = [
        each.source for each in Ruleset.parse(RECORDS, "f").read_call(call) if isinstance(each, Statement)
    ]
    assert sources == ["rule:records:before", "rule:records"]


def test_an_object_of_fields_and_fields_by_name() -> None:
    call = _call({"id": 7, "patch": {"a": 1, "b": None, "c": [1]}}, {"was": {"a": 0}})
    assert _said(_HEAD + 'after = "arguments.patch"\nbefore = "result.was"', call) == [
        ("7", "a", 0, True),
        ("7", "a", 1, False),
        ("7", "b", None, False),
        ("7", "c", [1], False),
    ]
    assert _said(_HEAD + 'after = "arguments.patch"\nfields = ["c", "d"]', call) == [("7", "c", [1], False)]
    named = '[rule.after]\nfirst = "arguments.patch.a"\n"due date" = "arguments.due"\n'
    assert _said(_HEAD + named, call) == [("7", "first", 1, False)]
    assert _said(_HEAD + 'clear = ["a", "b"]', call) == [("7", "a", None, False), ("7", "b", None, False)]
    assert _said(_HEAD + 'field = "=state"\nafter = "arguments.patch.a"', call) == [("7", "state", 1, False)]


def test_a_call_about_many_entities() -> None:
    rules = _HEAD.replace("arguments.id", "each.id") + 'each = "arguments.rows"\nafter = { n = "each.n" }\n'
    call = _call({"rows": [{"id": "a", "n": 1}, {"n": 2}, {"id": "c", "n": 3}]}, None)
    assert _said(rules, call) == [("a", "n", 1, False), ("c", "n", 3, False)]
    assert _missed(rules, call) == ["id: each.id does not lead to a text or whole number"]
    assert _missed(rules, _call({}, None)) == ["each: arguments.rows does not lead to a list"]


@pytest.mark.parametrize(
    ("more", "about", "fits"),
    [
        ("", {}, True),
        ("", {"status": "error"}, False),
        ("", {"status": "incomplete"}, False),
        ("", {"status": "not_executed"}, False),
        ("", {"tool": "other"}, False),
        ('agent = "or*"', {"agent": "orla"}, True),
        ('agent = ["x", "or*"]', {"agent": "milo"}, False),
        ('agent = "*a"', {}, False),
        ('service = "shop"', {"service": "shop"}, True),
        ('service = "shop"', {"service": "Shop"}, False),
        ('when = { "result.ok" = true }', {}, True),
        ('when = { "result.ok" = 1 }', {}, False),
        ('when = { "result.error" = "x" }', {}, False),
    ],
)
def test_which_calls_a_rule_fits(more: str, about: dict[str, str], fits: bool) -> None:
    said = _said(
        f'{_HEAD}after = {{ n = "arguments.n" }}\n{more}', _call({"id": "a", "n": 1}, {"ok": True}, **about)
    )
    assert bool(said) is fits


def test_what_is_not_there_is_reported() -> None:
    after = 'after = "arguments.patch"'
    assert _missed(_HEAD + after, _call({"id": True}, None)) == [
        "id: arguments.id does not lead to a text or whole number"
    ]
    assert _missed(_HEAD + after, _call({"id": "a"}, None)) == [
        "after: arguments.patch does not lead to an object of fields"
    ]
    field = 'field = "arguments.f"\nafter = "result.v"\nbefore = "result.w"'
    assert _missed(_HEAD + field, _call({"id": "a", "f": "x"}, {"v": 1})) == []
    assert _missed(_HEAD + field, _call({"id": "a", "f": "x"}, {"w": 1})) == [
        "after: result.v does not lead to anything"
    ]
    assert _said(_HEAD + field, _call({"id": "a", "f": "x"}, {"w": 1})) == [("a", "x", 1, True)]


def test_a_result_is_read_from_its_text_in_one_way() -> None:
    assert result_of('{"a": 1}') == {"a": 1}
    assert result_of("42") == 42
    assert result_of("plain words") == "plain words"
    assert result_of(None) is MISSING


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]\n", "rules.toml line 1 is not TOML"),
        ("", "has no rules"),
        ("[rule]\nname='x'", "line 1: write [[rule]]"),
        ("x = 1\n", "line 1: unknown key 'x'"),
        (_HEAD, "line 1: after: missing"),
        (_HEAD + "aftr = 'result.a'", "line 6: aftr: not a key of a rule; did you mean 'after'?"),
        (
            _HEAD + "after = 'reslt.a'",
            "line 6: after: 'reslt.a' does not begin with one of arguments, result, each",
        ),
        (_HEAD + "\n\n[rule.after]\na = 5", "line 8: after: 5 is not a path"),
        (
            _HEAD + "after = { a = 'result.a' }\nfield = 'arguments.f'",
            "line 6: after: names its fields itself",
        ),
        (_HEAD + "after = 'each.a'", "line 5: id: a path begins with each"),
        (_HEAD + "after = 'result'\nconfidence = 2", "line 7: confidence: 2 is not between 0 and 1"),
        (
            _HEAD + "after = 'result'\npriority = 1000",
            "line 7: priority: 1000 is not a whole number from 0 to 999",
        ),
        (_HEAD + "after = 'result'\nwhen = { result.ok = true }", "line 7: when: 'result': {'ok': True}"),
        (
            _HEAD + "after = 'result'\n" + _HEAD + "after = 'result'",
            "line 8: name: 'r' is already the name of another rule",
        ),
        (_HEAD.replace('"t"', "[]") + "after = 'result'", "line 3: tool: an empty list matches no call"),
        (_HEAD.replace('name = "r"', 'name = "a b"') + "after = 'result'", "line 2: name: 'a b'"),
        (_HEAD.replace('entity = "e"\n', "") + "after = 'result'", "line 1: entity: missing"),
    ],
)
def test_errors_name_the_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Ruleset.parse(text, "rules.toml")
    assert said in str(caught.value) and "rules.toml" in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: File) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Ruleset.read(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        Ruleset.read(tmp_path / "bytes.toml")
    assert Ruleset.read(None) is NO_RULES


def test_the_hash_is_of_the_meaning() -> None:
    same = "# a comment\n" + RECORDS.replace(" = ", "=")
    assert Ruleset.parse(RECORDS, "a").hash == Ruleset.parse(same, "b").hash
    assert len(Ruleset.parse(RECORDS, "a").hash) == 8
    assert (
        Ruleset.parse(RECORDS, "a").hash
        != Ruleset.parse(RECORDS.replace("result.after", "result.x"), "a").hash
    )
