"""Golden runs read back as they were written; expectations say what a run does instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from golden.agents import golden, suite, weather_run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrospan.schemas.bundle.comparison import compare
from retrospan.schemas.bundle.expectation import check_expectation, unmet
from retrospan.schemas.bundle.form import ModelCall, ToolCall
from retrospan.schemas.bundle.golden import names_in, read_golden, write_golden
from retrospan.schemas.errors import ConfigError, NotFound

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT, st.lists(TEXT, max_size=3))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_golden_run_reads_back(tmp_path: Path, description: str, command: list[str]) -> None:
    written = replace(golden("answer ~ x"), description=description, command=tuple(command))
    write_golden(tmp_path / "golden", written, suite("run-1"))
    assert read_golden(tmp_path / "golden", "weather") == (written, suite("run-1"))
    assert names_in(tmp_path / "golden") == ["weather"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not = toml =", "is not TOML"),
        ('run_id = "run-1"\nexpects = []', "'expects' is not one of description, run_id"),
        ("run_id = 1", "'run_id' should be a text"),
        ('run_id = "run-1"\nexpect = "x"', "'expect' should be a list of texts"),
        ('run_id = "run-1"\nexpect = ["what"]', "expect: 'what' is not an expectation"),
        ("", "'run_id' is missing"),
        ('run_id = "run-2"', "names the run run-2, and weather.bundle does not hold it"),
    ],
)
def test_a_file_that_was_edited_wrongly_is_named(tmp_path: Path, text: str, said: str) -> None:
    write_golden(tmp_path, golden(), suite("run-1"))
    (tmp_path / "weather.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_golden(tmp_path, "weather")


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    for name in ("../x", "", ".hidden", "a/b", "x" * 65, "a\n"):
        with pytest.raises(ConfigError, match="cannot name a golden run"):
            read_golden(tmp_path, name)
    with pytest.raises(NotFound, match="There are: none"):
        read_golden(tmp_path, "x")


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("tools = get_weather", None),
        ("tools =", "it called get_weather"),
        ("tools = get_weather, get_weather", "it called get_weather"),
        ("get_weather <= 1", None),
        ("get_weather<=0", "it called get_weather 1 times"),
        ("other <= 0", None),
        ('get_weather.city = "Oslo"', None),
        ('get_weather.city = "Bergen"', 'get_weather was called with city "Oslo"'),
        ("get_weather.country = null", "no call has it"),
        ("answer ~ In  OSLO", None),
        ("answer ~ Bergen", "it answered 'It is -3 °C in Oslo ☃.'"),
    ],
)
def test_expectations(text: str, instead: str | None) -> None:
    check_expectation(text)
    assert unmet(text, weather_run()) == instead


@pytest.mark.parametrize("text", ["", "tools", "x < 3", "get_weather.city = Oslo", "answer ~", "x <= many"])
def test_what_is_not_an_expectation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an expectation|is not JSON"):
        check_expectation(text)


def test_a_run_is_compared_with_another_call_by_call() -> None:
    run = weather_run()
    first, tool, last = run.calls
    assert isinstance(first, ModelCall) and isinstance(tool, ToolCall) and isinstance(last, ModelCall)
    assert compare(run, replace(weather_run("other"), started_at=5)).told() == "identical"
    shorter = replace(run, calls=run.calls[:2])
    assert compare(run, shorter).told() == (
        'prefix at step 3: call: recorded "a model call of gpt-4o-mini", now (nothing)'
    )
    assert (
        compare(shorter, run).told().endswith('call: recorded (nothing), now "a model call of gpt-4o-mini"')
    )
    other = replace(run, calls=(first, replace(tool, arguments={"city": "Bergen"}), last))
    assert (
        compare(run, other).told()
        == 'parts at step 2: get_weather.arguments.city: recorded "Oslo", now "Bergen"'
    )
    for changed, field in [
        (replace(first, answer=last.answer), "answer.messages[0].parts[0].type"),
        (replace(first, model="gpt-6"), "model"),
    ]:
        found = compare(run, replace(run, calls=(changed, tool, last)))
        assert (found.verdict, found.step) == ("parts", 1)
        assert found.difference is not None and found.difference.field.startswith(field.rpartition(".")[0])
    told = replace(run, calls=(first, replace(tool, result={"temp_c": 4}), last))
    assert compare(run, told).told() == "parts at step 2: get_weather.result.temp_c: recorded -3, now 4"
    swapped = replace(run, calls=(tool, first, last))
    assert compare(run, swapped).verdict == "parts"


def test_what_was_said_is_quoted_as_it_was_said() -> None:
    """Words of the sentence may stand in the values as well."""
    run = weather_run()
    *before, last = run.calls
    assert isinstance(last, ModelCall)
    changed = replace(
        last, answer=({"role": "assistant", "parts": [{"type": "text", "content": "nobody asked"}]},)
    )
    told = compare(replace(run, calls=(*before, changed)), run).told()
    assert 'recorded "nobody asked", now "' in told
