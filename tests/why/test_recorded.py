"""`why` of every recording with a fault holds the facts that were written down from its script and its bytes."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from fix_why import EXPECTED, Recorded, session_of, stands
from why.keep_reports import KEPT, SCENARIOS

from retrospan.ingest.why.fitting import CHARACTERS, fitted
from retrospan.ingest.why.html_page import html_page
from retrospan.ingest.why.markdown import markdown
from retrospan.ingest.why.plain_page import plain
from retrospan.ingest.why.sentence import Report, Sentence

NAMES = sorted(f"{path.parent.name}/{path.stem}" for path in EXPECTED.glob("*/*.toml"))
#: Asked every time: one framework with all scenarios.
ALWAYS = "langgraph-openinference/"
#: Asked often: another, and recordings that are told unlike all others.
OFTEN = (
    "openai-agents/",
    "claude-agent-sdk/loop",
    "crewai-openlit/loop",
    "genkit/tool_error",
    "llama-index-traceloop/llm_error",
    "google-genai-openlit/llm_error",
    "smolagents/tool_error",
)
#: Ids inside a text make its prompts differ before the models decide otherwise.
IDS_IN_TEXT = ("smolagents/diverge_a", "smolagents/diverge_b")


def _cases(rank: int) -> list[Any]:
    """Return the recordings with what marks them: asked every time, long, soak, the later the greater the rank."""
    marks = ((), (pytest.mark.long,), (pytest.mark.soak,))
    found: list[Any] = []
    for name in NAMES:
        seldom = 0 if name.startswith(ALWAYS) else 1 if name.startswith(OFTEN) else 2
        found.append(pytest.param(name, marks=marks[min(seldom + rank, 2)], id=name))
    return found


def _expected(name: str) -> dict[str, Any]:
    return tomllib.loads((EXPECTED / f"{name}.toml").read_text(encoding="utf-8"))


def _sentences(report: Report, chapter: str = "") -> list[Sentence]:
    return [each for found in report.chapters if chapter in ("", found.name) for each in found.sentences]


def _words(sentences: list[Sentence]) -> str:
    return "\n".join(sentence.text() for sentence in sentences)


@pytest.mark.parametrize("name", _cases(0))
def test_the_report_holds_what_was_written_down(recorded: Recorded, name: str) -> None:
    expected, report = _expected(name), recorded.why(name)
    text = fitted(report, plain, CHARACTERS)
    assert len(text) <= CHARACTERS
    wrong = [each for each in _sentences(report, "went_wrong") if each.kind != "nothing"]
    if expected["first"] == "nothing":
        assert not wrong
    else:
        assert wrong and wrong[0].kind == expected["first"]
        if name not in IDS_IN_TEXT:
            assert wrong[0].step == expected.get("step", expected.get("after_step"))
        assert expected.get("tool", "") in _words(wrong)
    if "repeats" in expected:
        assert f"called {expected['repeats']} times" in wrong[0].text()
    if "last_step" in expected:
        assert f"(steps {expected['step']} to {expected['last_step']})" in wrong[0].text()
    if name not in IDS_IN_TEXT:
        for words in [*expected["holds"], *([f"Cause: {expected['cause']}"] if "cause" in expected else [])]:
            assert words in text
    world = _words(_sentences(report, "world"))
    for tool in expected.get("world", []):
        assert tool in world
    for tool in expected.get("may_have_happened", []):
        assert f"“{tool}” (1 call, may have happened)" in world
    if "value" in expected:
        (value,) = [each for each in _sentences(report, "value") if each.kind == "value"]
        assert expected["value"] in value.text()
    if "large_characters" in expected:
        (large,) = [each for each in _sentences(report, "prompt") if each.kind == "large"]
        assert (
            large.step == expected.get("large_step") and f"{expected['large_characters']:,}" in large.text()
        )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_report_is_what_was_kept(recorded: Recorded, scenario: str) -> None:
    """As it is mailed; `python -m why.keep_reports`, in this folder's parent, keeps them as they are now."""
    page = html_page(recorded.why(f"langgraph-openinference/{scenario}"), 600)
    assert page == (KEPT / f"{scenario}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", _cases(1))
def test_every_sentence_has_its_rows(recorded: Recorded, name: str) -> None:
    report, session = recorded.why(name), session_of(recorded.url)
    bases = [basis for sentence in _sentences(report) for basis in sentence.rests_on]
    for sentence in _sentences(report):
        assert sentence.rests_on, sentence.text()
    different = {repr(basis): basis for basis in bases}
    for basis in different.values():
        assert stands(session, basis), basis


def test_a_row_that_is_not_there_is_noticed(recorded: Recorded) -> None:
    report, session = recorded.why("openai-agents/tool_error"), session_of(recorded.url)
    (failure,) = [each for each in _sentences(report) if each.kind == "failure"]
    basis = failure.rests_on[0]
    assert stands(session, basis)
    other = {**basis.where, "step": 3}
    assert not stands(session, type(basis)(basis.view, other))
    assert not stands(session, type(basis)(basis.view, basis.where, is_there=False))


@pytest.mark.parametrize("form", [plain, markdown, html_page])
def test_a_twin_is_named_with_how_it_was_found(recorded: Recorded, form: Any) -> None:
    twin = recorded.runs["openai-agents/diverge_a"][-1]
    assert twin in form(recorded.why("openai-agents/diverge_b"), None)
    said = _words(_sentences(recorded.why("openai-agents/diverge_b"), "compared"))
    assert f"run “{twin}”, the last good run before it with an equal input" in said


def test_a_run_that_somebody_names_is_compared(recorded: Recorded) -> None:
    other = recorded.runs["openai-agents/normal"][-1]
    report = recorded.why("openai-agents/diverge_b", against=other)
    said = _words(_sentences(report, "compared"))
    assert f"run “{other}”, which --against names" in said and "They part from the start" in said
