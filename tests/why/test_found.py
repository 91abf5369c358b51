"""`why` of runs that ended well by their status, and about which something else on record says otherwise."""

from __future__ import annotations

import pytest
from fix_cli import asking
from fix_why import Recorded
from why_found_scenes import (
    CONTRADICTED,
    CUT_CALL,
    CUT_OFF,
    GAVE_UP,
    MADE_UP_FOR,
    NAMED_ERROR,
    NO_TOOL,
    WITHHELD,
)


def test_what_a_rule_found_went_wrong(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = recorded.told(CONTRADICTED)
    assert "nothing" not in found
    (said,) = found["finding"]
    assert said.startswith("The rule contradiction found: “The answer states the identifier ORD-5521, but")
    ask = asking(recorded.url, monkeypatch, capsys)
    assert ask("why", CONTRADICTED, "--exit-code").code == 1
    assert '"contradiction"' in ask("findings", "--run", CONTRADICTED, "--json").out


def test_an_answer_that_was_cut_off_went_wrong(recorded: Recorded) -> None:
    found = recorded.told(CUT_OFF)
    assert found["cut_answer"] == [
        "The answer of model call 1 (step 1) was cut off at a limit of tokens, after 20: it ended for “length”."
    ]
    assert "nothing" not in found and found["end"] == ["The run ended ok all the same."]


def test_a_call_that_was_cut_off_comes_before_its_failure(recorded: Recorded) -> None:
    found = recorded.told(CUT_CALL)
    assert [*found].index("cut_answer") < [*found].index("failure")
    assert found["cut_answer"][0].endswith('It asked for “send_mail” with “{"body":"Dear Ada, your ord"}”.')
    assert found["end"] == ["The run went on and ended ok."]


def test_a_call_that_was_cut_off_and_done_only_stands_out(recorded: Recorded) -> None:
    found = recorded.told(MADE_UP_FOR)
    assert found["nothing"] == ["Nothing went wrong that is on record. What stands out:"]
    assert len(found["cut_answer"]) == 1


def test_an_answer_that_was_withheld_went_wrong(recorded: Recorded) -> None:
    (said,) = recorded.told(WITHHELD)["cut_answer"]
    assert said.endswith("was withheld or refused: it ended for “FinishReason.PROHIBITED_CONTENT”.")


def test_a_run_is_not_said_to_have_gone_on_where_it_did_not(recorded: Recorded) -> None:
    found = recorded.told(GAVE_UP)
    assert found["failure"][0].endswith(". No step began after it, and the run ended ok.")
    assert found["end"] == ["The run ended ok all the same."]


def test_a_result_that_begins_as_an_error_stands_out(recorded: Recorded) -> None:
    found = recorded.told(NAMED_ERROR)
    assert found["nothing"] == ["Nothing went wrong that is on record. What stands out:"]
    (said,) = found["named_error"]
    assert said.startswith(
        "What step 2, of “ask_helper”, returned begins as an error does, though the call is ok"
    )
    assert said.endswith(": “ERROR: no answer in 60 s”.")


def test_a_tool_that_there_is_none_of_did_nothing_to_the_world(recorded: Recorded) -> None:
    found = recorded.told(NO_TOOL)
    assert found["failure"][0].startswith(
        "Tool call 1, a call of “cancel_order”, failed: “Unknown tool name:"
    )
    assert found["effects_not_stated"][0].endswith("“cancel_order” (1 call, failed: there is no such tool).")
