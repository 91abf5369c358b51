"""`why` of runs told for it: effects, loops that time out, stale values, hostile texts, what is not known."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from fix_cli import Ask, asking, steering
from fix_why import Recorded, session_of, stands
from why_scenes import (
    ALONE,
    BROKE,
    CONTACTS,
    FATES,
    HARMFUL,
    INSIDE,
    LOOPING,
    MANY,
    MISSENT,
    RUNNING,
    SECOND_ONE,
    SILENT,
    STALE,
)

from retrospan.ingest.cli.views.why_rows import Gathering
from retrospan.ingest.why.report import report_of
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import document_ref


@pytest.fixture
def why(recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    ask = asking(recorded.url, monkeypatch, capsys)
    return lambda *words: ask("why", *words)


def _kinds(why: Ask, *words: str) -> dict[str, list[str]]:
    """Return the texts of the sentences by their kind."""
    found: dict[str, list[str]] = {}
    for line in why(*words, "--json").lines:
        said = json.loads(line)
        found.setdefault(said["kind"], []).append(said["text"])
    return found


def test_what_is_to_be_undone_is_told_with_its_key(why: Ask) -> None:
    found = _kinds(why, BROKE)
    (said,) = found["to_undo"]
    assert said == (
        'To be undone: “pay” at step 2 (write, executed) with “{"order":"O-9","amount":250}”, key “pay-1”; '
        "nothing on record undid it."
    )
    assert "effects_not_stated" not in found
    assert [text[:6] for text in found["failure"]] == ["Step 4", "Step 5"]


def test_an_effect_is_told_by_what_became_of_it(why: Ask) -> None:
    found = _kinds(why, FATES)
    assert [text.partition(":")[0] for text in found["effect"]] == [
        "It planned, and does not say that it did",
        "It did",
        "It left out",
        "It did not get done",
        "It may have done",
    ]


def test_the_document_with_the_wrong_address_is_named_by_one_command(
    why: Ask, recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = document_ref("acme", "contacts", hash_of(CONTACTS["acme"]))
    begin = CONTACTS["acme"].index("billing@")
    place = f"[{begin}:{begin + 20}]"
    found = _kinds(why, MISSENT)
    assert found["value"] == [
        "It is about “billing@acme.exmaple” (“to”) in the arguments of step 3: the error names it."
    ]
    assert found["document"] == [f"This document holds what the argument has: “{wrong}”, at “{place}”."]
    ask = asking(recorded.url, monkeypatch, capsys)
    lines = ask("trace", f"{MISSENT}/3").lines
    assert [line.strip("│├└─ ") for line in lines if f"used {wrong}" in line][:1] == [
        f"used {wrong}  (argument to at {place}; inferred)"
    ]
    assert not any("argument" in line for line in lines if "document:contacts/acme" not in line)
    # What else came of it: by its version, in its store, and by its id alone, as before there were versions.
    for reference in (wrong, "document:contacts/acme", "document:acme"):
        down = ask("trace", reference, "--down", "--agent", "biller", "--service", "billing")
        assert down.lines[0].startswith("reached 1 run") and "agent biller" in down.lines[1], reference
        assert any("send_email" in line for line in down.lines), reference
        assert ask("trace", reference, "--down", "--service", "shop").lines[0] == "reached 0 runs"
    other = document_ref("bolt", "contacts", hash_of(CONTACTS["bolt"]))
    assert not any("send_email" in line for line in ask("trace", other, "--down", "--depth", "1").lines)


def test_the_document_is_named_where_the_address_stands_inside_an_argument(why: Ask) -> None:
    wrong = document_ref("acme", "contacts", hash_of(CONTACTS["acme"]))
    begin = CONTACTS["acme"].index("billing@")
    found = _kinds(why, INSIDE)
    assert found["value"] == [
        "It is about “billing@acme.exmaple” (“message.to[1].address”) in the arguments of step 3: the error names it."
    ]
    assert found["document"] == [
        f"This document holds what the argument has: “{wrong}”, at “[{begin}:{begin + 20}]”."
    ]


def test_a_loop_that_ends_in_a_timeout_is_a_loop(why: Ask) -> None:
    found = _kinds(why, LOOPING)
    assert "5 times in a row" in found["loop"][0] and "class" not in found
    assert found["loop_first"] and "transient" not in json.dumps(found)


def test_a_value_that_was_out_of_date_when_it_was_read(why: Ask) -> None:
    (said,) = _kinds(why, STALE)["stale_input"]
    assert said == (
        f"Step 1 read “max” of “config/limits” as “10”, which another run (“{SECOND_ONE}”) had replaced before by “20”."
    )
    assert why(STALE, "--exit-code").code == 1


def test_a_healthy_run_says_so_and_what_is_not_known(why: Ask) -> None:
    found = _kinds(why, ALONE)
    assert found["nothing"] == ["Nothing went wrong that is on record."]
    assert found["no_baseline"] == [
        "It is compared with no other run: no other run of the same agent and service is on record."
    ]
    assert "no_effect" in found and "decisions" in found
    assert why(ALONE, "--exit-code").code == 0


def test_a_run_without_contents_is_not_blamed_for_it(why: Ask) -> None:
    found = _kinds(why, SILENT)
    assert "nothing" in found and "asked" not in found
    assert "CAPTURE_MESSAGE_CONTENT" in found["no_input"][0]
    assert "its input is not on record" in found["no_baseline"][0]


def test_a_run_that_goes_on_is_told_so_far(why: Ask) -> None:
    found = _kinds(why, RUNNING)
    assert found["nothing"] == ["Nothing went wrong that is on record so far."]
    assert "still running" in found["running"][0]
    said = why(RUNNING, "--exit-code")
    assert said.code == 0 and "is still running" in said.err


@pytest.mark.parametrize(
    "run_id", [MANY, *(pytest.param(each, marks=pytest.mark.long) for each in (HARMFUL, BROKE))]
)
@pytest.mark.parametrize("form", [(), ("--markdown",)])
def test_a_report_is_no_longer_than_it_may_be(why: Ask, run_id: str, form: tuple[str, ...]) -> None:
    for most in (1_000, 3_000, 8_000):
        said = why(run_id, *form, "--most", str(most))
        assert len(said.out) <= most and said.code == 0
    assert len(why(run_id, *form).out) <= 8_000


def test_what_was_left_out_is_counted_with_how_to_see_it(why: Ask) -> None:
    said = why(MANY, "--most", "3000").out
    assert re.search(r"… \d+ more sentences: --full shows them", said)
    assert "[6,400 chars]" in why(MANY).out
    whole = why(MANY, "--full").out
    assert "more sentences" not in whole and "place-60" in whole


def test_no_text_of_an_agent_steers_a_terminal(why: Ask) -> None:
    for form in ((), ("--markdown",), ("--html", "-"), ("--json",), ("--full",)):
        assert steering(why(HARMFUL, *form).out) == []


class _Page(HTMLParser):
    """Collects which elements and attributes a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}


@pytest.mark.parametrize("more", [(), ("--full",)])
def test_nothing_that_was_recorded_is_markup_in_html(why: Ask, more: tuple[str, ...]) -> None:
    page = _Page()
    text = why(HARMFUL, "--html", "-", *more).out
    page.feed(text)
    page.close()
    assert page.tags <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "section", "ul", "li", "small", "q", "code", "footer",
    }  # fmt: skip
    assert {name for _, name in page.attributes} <= {
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "id",
        "class",
        "dir",
        "aria-labelledby",
    }
    assert ("q", "dir") in page.attributes, "right-to-left text is read in its own direction"
    # Whoever hears the page goes to its main part, and from section to section by their titles.
    assert "main" in page.tags and text.count("<section ") == text.count(" aria-labelledby=") > 3
    assert "default-src 'none'" in text.replace("&#x27;", "'") and "http://" not in text.split("</head>")[0]


def test_nothing_that_was_recorded_is_markup_in_markdown(why: Ask) -> None:
    text = why(HARMFUL, "--markdown").out
    # What is left when code spans are taken away, each closed by as many backticks as opened it.
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "`" not in outside and "<" not in outside and "evil" not in outside and "](" not in outside
    lines = [line for line in text.splitlines() if line]
    assert all(line.startswith(("# ", "## ", "- ")) for line in lines)


def test_a_page_is_written_where_it_is_to_be(why: Ask, tmp_path: object) -> None:
    path = f"{tmp_path}/why.html"
    said = why(BROKE, "--html", path)
    assert said.out == "" and f"written: {path}" in said.err
    with open(path, encoding="utf-8") as file:
        assert file.read().startswith("<!DOCTYPE html>")
    refused = why(BROKE, "--html", f"{tmp_path}/nowhere/why.html")
    assert refused.code == 2 and "nowhere/why.html" in refused.err


def test_forms_exclude_each_other(why: Ask) -> None:
    said = why(BROKE, "--json", "--markdown")
    assert said.code == 2 and "choose one" in said.err


def test_an_unknown_run_names_the_nearest(why: Ask) -> None:
    said = why("b20f")
    assert said.code == 2 and BROKE in said.err
    said = why("0" * 32)
    assert said.code == 2 and "no run starts with" in said.err and "Nearest" in said.err


def test_no_run_at_all_is_said(ask_empty: Ask) -> None:
    said = ask_empty("why", "last")
    assert said.code == 2 and "no runs yet" in said.err


def test_the_questions_are_printed_on_demand(why: Ask) -> None:
    said = why(BROKE, "--sql").out
    assert said.count(BROKE) >= 6 and "FROM failures" in said


@pytest.mark.parametrize(
    "run_id",
    [
        MANY,
        MISSENT,
        STALE,
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in (ALONE, BROKE, INSIDE, LOOPING, RUNNING, SILENT)
        ),
    ],
)
def test_every_sentence_of_a_told_run_has_its_rows(recorded: Recorded, run_id: str) -> None:
    session = session_of(recorded.url)
    report = report_of(Gathering(session, run_id).rows())
    bases = {
        repr(basis): basis for part in report.chapters for each in part.sentences for basis in each.rests_on
    }
    for basis in bases.values():
        assert stands(session, basis), basis
