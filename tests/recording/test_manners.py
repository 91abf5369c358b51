"""A guest's manners where the agent is not as it should be: handlers that raise, wrong arguments, values without end."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fix_spans import Sent

from retrospan.exporter.recording import decide, effect, encoding, guests, json_text, observe, run, step
from retrospan.exporter.recording.encoding import json_value
from retrospan.schemas import attributes as names


class Strict(logging.Handler):
    """As of a test's runner, or of an alerting library."""

    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError(record.getMessage())


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every line of the log raises, and none was said before."""
    monkeypatch.setattr(guests, "_SAID", set[str]())
    monkeypatch.setattr(encoding._Limit, "said", False)
    handler = Strict()
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)


@pytest.mark.usefixtures("strict")
def test_a_handler_that_raises_does_not_raise_into_the_agent(sent: Sent) -> None:
    with run("support"), step("look up", 1, state={"page": "x" * 5_000_000}):
        observe("order/A-17", {"status": "late"}, confidence="high")  # type: ignore[arg-type]
        decide("what", "wait", options=5)  # type: ignore[arg-type]
    assert [span.name for span in sent.spans] == ["look up", "invoke_agent support"]
    assert "$cut" in str(sent.spans[0].attributes)


def test_one_wrong_argument_costs_no_other(sent: Sent) -> None:
    with run("support"):
        decide("what", "refund", options=["refund", "wait"], rationale="late", confidence="high")  # type: ignore[arg-type]
        decide("next", "wait", options=5)  # type: ignore[arg-type]
        assert observe("order/A-17", {"status": "late"}, id="a", confidence="80%") == "a"  # type: ignore[arg-type]
        assert observe(None, {"status": "late"}, id="b") == "b"  # type: ignore[arg-type]
    said: list[dict[str, Any]] = [dict(event.attributes or {}) for event in sent.spans[0].events]
    assert said[0][names.DECISION_CHOSEN] == "refund" and said[0][names.DECISION_RATIONALE] == "late"
    assert said[0][names.DECISION_CONFIDENCE] == "high"
    assert said[1][names.DECISION_OPTIONS] == "5"
    assert said[2][names.CHANGES] == '{"status":"late"}' and said[2][names.CONFIDENCE] == "80%"
    assert said[3][names.CHANGES] == '{"status":"late"}' and said[3][names.ENTITY_ID] == "null"


def test_an_argument_that_does_not_exist_is_left_out(sent: Sent) -> None:
    unknown: dict[str, Any] = {"bogus": 1}
    with run("support", **unknown), step("look up", 1, **unknown) as one, effect("send", {"a": 1}, **unknown):
        pass
    assert one.span.is_recording() is False
    assert {span.name for span in sent.spans} == {"execute_tool send", "look up", "invoke_agent support"}

    @step("decorated", **unknown)
    def work(value: int) -> int:
        return value + 1

    assert work(1) == 2


@dataclass
class Pair:
    left: object
    right: object


def shared(levels: int, make: Any) -> object:
    at: object = make("leaf", "leaf")
    for _ in range(levels):
        at = make(at, at)
    return at


@pytest.mark.long
@pytest.mark.parametrize(
    "make",
    [
        lambda left, right: {"left": left, "right": right},
        lambda left, right: [left, right],
        lambda left, right: {"nan": math.nan, "left": left, "right": right},
        Pair,
        lambda left, right: [Pair(left, right)],
    ],
)
def test_what_holds_one_object_in_many_places_is_not_written_as_often(make: Any) -> None:
    """Sixty levels have more leaves than any machine could write."""
    text = json_text({"kept": "yes", "endless": shared(60, make)})
    assert len(text) <= encoding.DEFAULT_LIMIT_BYTES
    assert json.loads(text)["kept"] == "yes" and "$cut" in text
    assert isinstance(json_value(shared(60, make)), dict | list)


def test_a_text_that_is_held_many_times_is_not_written_as_often() -> None:
    text = json_text({"kept": "yes", "pages": ["x" * 100_000] * 1_000_000})
    assert len(text) <= encoding.DEFAULT_LIMIT_BYTES and json.loads(text)["kept"] == "yes"
