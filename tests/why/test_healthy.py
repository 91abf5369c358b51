"""`why` of runs that call a tool again until it answers otherwise, that leave a step out, or that go on from another."""

from __future__ import annotations

import json

import pytest
from fix_cli import asking
from fix_why import Recorded
from why_healthy_scenes import ADDED, IN_VAIN, LEFT_OUT, POLLED, RESUMED, RETRIED, WHOLE


def test_waiting_until_it_is_there_went_not_wrong(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = recorded.told(POLLED)
    assert found["nothing"] == ["Nothing went wrong that is on record. What stands out:"]
    assert "5 times in a row" in found["loop"][0] and "2 different results" in found["loop"][0]
    assert asking(recorded.url, monkeypatch, capsys)("why", POLLED, "--exit-code").code == 0


def test_what_succeeded_when_it_was_tried_again_is_not_said_to_be_in_vain(recorded: Recorded) -> None:
    found = recorded.told(RETRIED)
    assert found["class"] == ["It is of the class transient: the same may succeed when it is tried again."]
    assert found["tried_again"] == ["The same call was made 4 times; the last, step 8, succeeded."]
    assert [*found].index("failure") < [*found].index("loop")


def test_what_was_tried_again_in_vain_is(recorded: Recorded) -> None:
    found = recorded.told(IN_VAIN)
    assert "503 Service Unavailable" in found["failure"][0]
    assert found["class"][0].endswith("It was tried again in a loop, though: trying again is not what helps.")
    assert found["retry_context"][0].endswith(
        "state retrospan.attempt.backoff_ms on the span of the attempt, and the error on that of one that fails."
    )


def test_a_step_that_was_left_out_comes_before_what_followed_from_it(recorded: Recorded) -> None:
    found = recorded.told(LEFT_OUT)
    (said,) = found["divergence"]
    assert said.startswith(f"It left out what the good run “{WHOLE}” did at its step 3: “price(")
    assert [*found].index("divergence") < [*found].index("failure")
    assert "At its end" not in json.dumps(found)


def test_a_step_that_only_it_has_is_not_said_to_come_after_the_end_of_the_other(recorded: Recorded) -> None:
    (said,) = recorded.told(ADDED)["divergence"]
    assert said.startswith(f"At step 4 it did what the good run “{WHOLE}” did not do there: “stock(")


def test_a_run_that_resumes_is_compared_with_none_from_the_start(recorded: Recorded) -> None:
    assert recorded.told(RESUMED)["no_baseline"] == [
        "It is compared with no other run: none of the 1 run of the same agent and service around it went well."
    ]
    (said,) = recorded.told(IN_VAIN)["no_baseline"]
    assert said.endswith(
        "it goes on from no other run, and no good run of the same agent and service around it does that."
    )
