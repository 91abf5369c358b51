"""Faults planted over a fortnight of 400 runs: each is found by one command, `why --since`, and a fortnight without one says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from fix_cli import Ask, asking, serving, steering
from fix_why import session_of, stands
from fortnight import INSTEAD

from retrospan.ingest.why.sentence import Basis

pytestmark = pytest.mark.long

#: A day before the faults were planted: since when it is worse has to be found.
SINCE = ("--since", "5d")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("fortnight"), "--fortnight") as found:
        yield found


@pytest.fixture
def why(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    ask = asking(url, monkeypatch, capsys)
    return lambda *words: ask("why", *words)


def _told(why: Ask, *words: str) -> list[dict[str, Any]]:
    said = why(*words, "--json")
    assert said.err == ""
    return [json.loads(line) for line in said.lines]


def _texts(told: list[dict[str, Any]], chapter: str, kind: str = "") -> list[str]:
    return [each["text"] for each in told if each["chapter"] == chapter and kind in ("", each["kind"])]


def _is_worse(told: list[dict[str, Any]], metric: str) -> bool:
    """Return whether the metric is said to be worse, by three runs, and since about the day after `SINCE`."""
    rests = [each["rests_on"][0]["where"]["metric"] for each in told if each["kind"] == "worse"]
    moments = [each for each in told if each["kind"] == "moment"]
    examples = [each["text"].count("“") for each in told if each["kind"] == "worse"]
    return rests == [metric] and len(moments) == 1 and examples == [3]


def test_a_prompt_that_was_changed_is_found_line_by_line(why: Ask) -> None:
    told = _told(why, *SINCE, "--agent", "prompt")
    assert _is_worse(told, "failure_rate")
    (said,) = _texts(told, "changed", "system_prompt")
    assert (
        said.startswith("The system prompt of agent “prompt” was changed too: ")
        and said.count("; runs that show it: ") == 1
    )
    assert _texts(told, "changed", "only")
    assert _texts(told, "lines") == [
        "Gone from the system prompt of agent “prompt”, line 3: “Refund only with an order number.”",
        f"New in the system prompt of agent “prompt”, line 3: “{INSTEAD}”",
    ]


def test_a_wrong_version_of_a_document_is_found(why: Ask) -> None:
    told = _told(why, *SINCE, "--agent", "document")
    assert _is_worse(told, "failure_rate")
    (said,) = _texts(told, "changed", "document")
    assert said.startswith("The version of “document:manuals/returns” was changed too: “v7” in ")
    assert "; “v8” in 0 of " in said
    # What the tool returns is the document: two changes that came together.
    (said,) = _texts(told, "changed", "several")
    assert said.startswith("2 things were changed, all from run “01") and "they may be one change" in said
    gone, new = _texts(told, "lines")
    assert "within 30 days" in gone and "within 90 days" in new


def test_a_longer_manual_is_found_as_what_costs_more(why: Ask) -> None:
    told = _told(why, *SINCE, "--agent", "manual")
    assert _is_worse(told, "input_tokens")
    (said,) = _texts(told, "changed", "tool_result")
    assert said.startswith(
        'The result of an equal call of “manual” with “{"name":"returns"}” was changed too: '
    )
    assert "[2,000 chars]" in said and "[20,000 chars]" in said
    assert _texts(told, "changed", "only")


def test_another_model_is_found(why: Ask) -> None:
    told = _told(why, *SINCE, "--agent", "model")
    assert _is_worse(told, "failure_rate")
    (said,) = _texts(told, "changed", "model")
    assert "“m-2” in " in said and "; “m-2-mini” in 0 of " in said
    assert {each["kind"] for each in told if each["chapter"] == "changed"} == {
        "model",
        "answering_model",
        "several",
    }


def test_a_prompt_that_holds_the_time_is_compared_by_what_stays(why: Ask) -> None:
    told = _told(why, *SINCE, "--agent", "dated")
    assert _is_worse(told, "failure_rate")
    assert _texts(told, "lines") == [f"New in the system prompt of agent “dated”: “{INSTEAD}”"]
    (said,) = _texts(told, "changed", "system_prompt")
    assert "is another in nearly each run" in said
    assert not _texts(told, "changed", "unchanged")


def test_a_fortnight_without_a_change_finds_nothing(why: Ask) -> None:
    for days in (2, 5, 8, 10):
        told = _told(why, "--since", f"{days}d", "--agent", "healthy")
        assert [each["kind"] for each in told if each["chapter"] in ("worse", "changed")] == [
            "nothing",
            "unchanged",
        ]
        assert {each["chapter"] for each in told} == {"sides", "worse", "changed", "not_known"}
    assert why(*SINCE, "--agent", "healthy", "--exit-code").code == 0
    assert why(*SINCE, "--agent", "model", "--exit-code").code == 1


def test_two_spans_are_compared_like_the_time_before_and_after(why: Ask) -> None:
    told = _told(why, "--baseline", "12d..5d", "--candidate", "3d..", "--agent", "prompt")
    assert _texts(told, "lines")[1].endswith(f"“{INSTEAD}”")
    assert not _texts(told, "moment"), "of spans nobody asked since when"
    same = _told(why, "--baseline", "12d..9d", "--candidate", "9d..5d", "--agent", "prompt")
    assert [each["kind"] for each in same if each["chapter"] in ("worse", "changed")] == [
        "nothing",
        "unchanged",
    ]


@pytest.mark.parametrize("agent", ["document", "dated"])
def test_every_sentence_has_its_rows(why: Ask, url: str, agent: str) -> None:
    session = session_of(url)
    seen = set[str]()
    for each in _told(why, *SINCE, "--agent", agent):
        for basis in each["rests_on"]:
            written = json.dumps(basis, sort_keys=True)
            if written not in seen:
                seen.add(written)
                found = Basis(basis["view"], basis["where"], basis.get("given", {}), basis.get("rows") != 0)
                assert stands(session, found), each["text"]
    assert len(seen) > 8


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not {name for name, _ in attrs} & {"href", "src", "onerror"}


def test_markup_in_prompts_and_definitions_is_inert(why: Ask) -> None:
    page = why(*SINCE, "--agent", "hostile", "--html", "-").out
    parser = _Page()
    parser.feed(page)
    assert parser.tags <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "section", "ul", "li", "q", "small",
        "code", "footer",
    }  # fmt: skip
    assert "&lt;script&gt;" in page and "What got worse of agent hostile since " in page
    marked = why(*SINCE, "--agent", "hostile", "--markdown", "--full").out
    for line in marked.splitlines():
        # Outside of code spans nothing is a tag, a link or a heading of its own.
        outside = "".join(line.split("`")[::2]) if line.count("`") % 2 == 0 else ""
        assert "<script" not in outside and "](" not in outside
    assert "# heading" not in [line.strip() for line in marked.splitlines()]
    assert not steering(why(*SINCE, "--agent", "hostile", "--full").out)
    told = _told(why, *SINCE, "--agent", "hostile")
    assert {"system_prompt", "tool_definitions", "several"} <= {
        each["kind"] for each in told if each["chapter"] == "changed"
    }
    assert any("5,000 characters or more" in said for said in _texts(told, "inputs", "input_length"))


def test_a_report_is_short_unless_all_of_it_is_asked_for(why: Ask) -> None:
    said = why(*SINCE, "--agent", "hostile")
    assert len(said.out) <= 8_000
    assert len(why(*SINCE, "--agent", "hostile", "--most", "1000").out) <= 1_000


def test_too_few_runs_and_unknown_agents_are_said(why: Ask) -> None:
    words = ("--since", "4h", "--agent", "model")
    said = why(*words)
    assert said.code == 0 and "INCONCLUSIVE" in said.out and "more of the candidate" in said.out
    assert why(*words, "--exit-code").code == 2
    said = why("--baseline", "2000-01-01..2000-01-02", "--candidate", "2000-01-02..2000-01-03")
    assert said.code == 2 and said.out == "" and "neither side has a run" in said.err
    said = why(*SINCE, "--agent", "modle")
    assert said.code == 2 and "Did you mean --agent model?" in said.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "say what to explain: a RUN, --since TIME, or --baseline SPAN with --candidate SPAN."),
        (["last", "--since", "1d"], "and only one of them"),
        (["--baseline", "2d..1d"], "--candidate is missing"),
        (["--since", "soon"], "'soon' is not a time"),
        (["--since", "2199-01-01"], "--since is a time to come"),
        (["last", "--agent", "x"], "--agent chooses runs of two sides"),
        (["--since", "1d", "--against", "last"], "--against compares a RUN"),
    ],
)
def test_a_command_line_that_means_nothing_is_refused(why: Ask, words: list[str], complaint: str) -> None:
    said = why(*words)
    assert said.code == 2 and complaint in said.err


def test_the_questions_can_be_pasted(why: Ask) -> None:
    said = why(*SINCE, "--agent", "model", "--sql")
    assert "FROM drift(" in said.out and "FROM circumstances(" in said.out and "agent = 'model'" in said.out
