"""Rules evaluated against the engine, and what is durable: who was decided to be told, begun, told, given up."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from alerts.alert_scene import FALSE, HEAD, RULE, SETTINGS, TRUE, Scene, rule

from retrospan.ingest.alerts import sender as sending
from retrospan.ingest.alerts.alerting import Alerting
from retrospan.ingest.alerts.attempt import Attempt, Message
from retrospan.ingest.alerts.rules import read_rules
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import BadRequest, ConfigError, WarehouseUnavailable


@pytest.fixture
def scene(warehouse: EmbeddedWarehouse) -> Scene:
    return Scene(warehouse)


def test_it_tells_once_within_the_cooldown_whatever_restarts(scene: Scene) -> None:
    scene.start(rule(to=("one", "two")))
    assert scene.run() == [("one", 1), ("two", 1)]
    assert scene.run() == []
    scene.start(rule(to=("one", "two")))  # another process
    scene.wait(599)
    assert scene.run() == []
    scene.wait(2)
    assert scene.run() == [("one", 1), ("two", 1)]
    assert scene.told[0][1].alert_id == scene.told[1][1].alert_id != scene.told[2][1].alert_id


def test_a_condition_that_does_not_hold_or_is_not_known_tells_nobody(scene: Scene) -> None:
    scene.reject("no protobuf")
    scene.start(rule(FALSE, "quiet"), rule("max(spans) > NULL", "unknown"))
    assert scene.run() == []
    assert scene.evaluator.last["quiet"].fires is False
    assert scene.evaluator.last["unknown"].fires is None
    assert "NULL" in scene.evaluator.last["unknown"].failure


def test_a_maximum_of_no_rows_is_quiet(scene: Scene) -> None:
    scene.start(rule("max(nullIf(spans, 0)) > 5", "idle"))
    assert scene.run() == []
    assert (scene.evaluator.last["idle"].fires, scene.evaluator.last["idle"].matched) == (False, 0)
    assert scene.evaluator.last["idle"].failure == ""


def test_each_target_of_an_alert_is_listed(scene: Scene) -> None:
    targets = ("one", "two", "three", "four", "five")
    scene.answers = {
        "one": Attempt("given_up", "it is not there"),
        "five": Attempt("given_up", "neither is it"),
    }
    scene.start(rule(to=targets))
    for _ in range(4):
        scene.run()
        scene.wait(601)
    found = scene.book.outcomes()
    assert len({each.alert_id for each in found}) == 3
    for alert_id in {each.alert_id for each in found}:
        told = {each.target: each.outcome for each in found if each.alert_id == alert_id}
        assert told == dict.fromkeys(targets, "sent") | {"one": "given up", "five": "given up"}


def test_what_was_decided_and_not_begun_is_told_by_the_next_process(scene: Scene) -> None:
    scene.start(rule())
    scene.evaluator.run_once()  # and is killed here
    scene.start(rule())
    assert scene.run() == [("one", 1)]


def test_what_was_begun_and_not_ended_is_told_again_under_the_same_id(scene: Scene) -> None:
    class Killed(BaseException):
        """Stands for kill -9 while the target answers."""

    def die() -> None:
        raise Killed

    scene.on_deliver = die
    scene.start(rule())
    with pytest.raises(Killed):
        scene.run()
    scene.on_deliver = lambda: None
    scene.start(rule())
    assert scene.run() == [], "not before the pause after an attempt"
    scene.wait(3)
    assert scene.run() == [("one", 2)]
    assert scene.body()["attempt"] == 2
    assert len({message.alert_id for _, message in scene.told}) == 1


def test_a_clock_that_was_ahead_silences_nobody_when_it_is_set_right(scene: Scene) -> None:
    scene.start(rule())
    scene.wait(30 * 86_400)
    assert scene.run() == [("one", 1)]
    scene.wait(-30 * 86_400)
    assert scene.run() == [("one", 1)], "what was decided in a month from now says nothing of today"
    scene.wait(60)
    assert scene.run() == [], "within the cooldown"
    # Within the cooldown nobody is told again, whichever way the clock is set.
    scene.wait(-300)
    assert scene.run() == []
    scene.wait(300 + 600)
    assert scene.run() == [("one", 1)]


def test_an_attempt_that_is_due_does_not_wait_for_a_clock_that_was_set_back(scene: Scene) -> None:
    scene.answers["one"] = Attempt("refused", "it answered 500")
    scene.start(replace(rule(), cooldown=86_400.0))
    assert scene.run() == [("one", 1)]
    scene.wait(-3600)
    scene.answers["one"] = Attempt("sent")
    assert scene.run() == [("one", 2)]


@pytest.mark.long
def test_a_target_that_fails_is_tried_less_and_less_often_and_given_up(scene: Scene) -> None:
    scene.answers["one"] = Attempt("refused", "it answered 500")
    scene.start(replace(rule(to=("one", "two")), cooldown=7 * 86400.0))
    assert scene.run() == [("one", 1), ("two", 1)]
    assert scene.sender.complaints == {"one": "it answered 500"}
    number, waited = 1, 0.0
    while number < sending.MOST_ATTEMPTS:
        pause = scene.sender.pause_after(number)
        scene.wait(pause - 0.5)
        assert scene.run() == []
        scene.wait(0.6)
        waited += pause
        number += 1
        assert scene.run() == [("one", number)]
    assert 3000 < waited < 4000
    scene.wait(3600)
    assert scene.run() == []
    (of_one,) = [each for each in scene.book.outcomes() if each.target == "one"]
    assert of_one.outcome == "given up" and of_one.reason == "after 18 attempts: it answered 500"
    counted = scene.counters
    assert (counted.attempts, counted.sent, counted.refusals, counted.given_up) == (19, 1, 17, 1)
    assert counted.pending == 0


def test_what_cannot_go_better_is_given_up_at_once(scene: Scene) -> None:
    scene.answers["one"] = Attempt("given_up", "it answered 307, a redirect, and none is followed")
    scene.start(rule())
    assert scene.run() == [("one", 1)]
    scene.wait(400)
    assert scene.run() == []


def test_what_waited_too_long_for_a_collector_is_given_up_with_that_reason(scene: Scene) -> None:
    scene.start(replace(rule(), cooldown=7 * 86400.0))
    scene.evaluator.run_once()
    scene.wait(7 * 3600)
    scene.start(replace(rule(), cooldown=7 * 86400.0))
    assert scene.run() == []
    assert scene.book.outcomes()[0].reason == "it is 7 hours old, for want of a collector or target"


def test_a_rule_that_is_gone_tells_nobody_any_more(scene: Scene) -> None:
    scene.start(rule())
    scene.evaluator.run_once()
    scene.start(rule(FALSE, "another"))
    assert scene.run() == []
    assert "no longer" in scene.book.outcomes()[0].reason


def test_only_the_one_whose_turn_it_is_evaluates_and_tells(scene: Scene) -> None:
    scene.mine = False
    scene.start(rule())
    assert scene.run() == [] and scene.counters.evaluations == 0
    scene.mine = True
    assert scene.run() == [("one", 1)]
    # Another takes over, with all that is not told yet; this one keeps silent.
    scene.answers["one"] = Attempt("refused", "no")
    scene.wait(700)
    assert scene.run() == [("one", 1)]
    scene.mine = False
    scene.wait(700)
    assert scene.run() == []
    other = Scene(scene.warehouse, now=scene.now)
    other.start(rule())
    assert other.run() == [("one", 2), ("one", 1)]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("nope > 1", "nope"),
        ("(SELECT count() FROM file('/etc/passwd')) > 0", "file() is refused"),
        ("(SELECT count() FROM url('http://127.0.0.1')) > 0", "url() is refused"),
        ("length(groupArray(arrayJoin(range(30000000)))) > 1", "emory"),
        ("(SELECT count() FROM numbers(100000000000) WHERE number % 3 = 1) > 0", "imeout"),
    ],
)
def test_a_condition_that_fails_says_so_and_holds_up_no_other(
    scene: Scene, condition: str, said: str
) -> None:
    began = time.monotonic()
    scene.start(rule(condition, "bad"), rule(TRUE, "good"))
    assert scene.run() == [("one", 1)]
    assert said in scene.evaluator.last["bad"].failure
    assert scene.counters.failures == 1
    assert time.monotonic() - began < 60


def test_texts_of_senders_are_data_in_the_payload(scene: Scene) -> None:
    hostile = '"},"alert":{"severity":"info"}}\n\u001b[2J<img src=x onerror=alert(1)>\u202e ' + "x" * 5000
    scene.reject(hostile)
    scene.start(rule("sum(spans) = 3"))
    assert scene.run() == [("one", 1)]
    body = scene.told[-1][1].body
    assert body.isascii() and b"\n" not in body and len(body) < 8000
    told = scene.body()
    assert told["alert"]["severity"] == "warning" and told["alert"]["matched"] == 1
    assert told["text"] == "warning: r: 1 row of rejects within 1h"
    (shown,) = told["rows"]
    assert shown["reason"] == hostile[:500] + "…" and shown["spans"] == "3"


def test_of_a_run_it_says_how_to_ask_why_and_no_id_becomes_a_command(scene: Scene) -> None:
    from retrospan.ingest.alerts.payload import payload

    of_runs = replace(rule(), view="runs", show=("run_id",), link="https://x.example/?run={run_id}")
    scene.start(of_runs)
    decision = scene.book.decide("r", ("one",), 0, 1, 5)
    ids = ["4bf9", "'; rm -rf / #", "--json", "a\u001b[2Jb", None]
    rows = json.loads(payload(of_runs, decision, [["t", each] for each in ids]))["rows"]
    assert [row.get("why") for row in rows] == [
        "retrospan why 4bf9",
        "retrospan why ''\"'\"'; rm -rf / #'",
        "retrospan why -- --json",
        None,
        None,
    ]
    assert rows[1]["link"] == "https://x.example/?run=%27%3B%20rm%20-rf%20%2F%20%23"


def test_that_rows_were_deleted_meanwhile_is_said(scene: Scene) -> None:
    scene.reject("too long")
    scene.answers["one"] = Attempt("refused", "no answer")
    scene.start(rule())
    assert scene.run() == [("one", 1)] and scene.body()["rows_missing"] is None
    store = scene.warehouse.connect()
    store.command("ALTER TABLE raw_rejects DELETE WHERE spans = 3 SETTINGS mutations_sync = 2")
    store.close()
    scene.wait(5)
    assert scene.run() == [("one", 2)]
    assert (scene.body()["alert"]["matched"], scene.body()["rows"]) == (1, [])
    assert scene.body()["rows_missing"].startswith("0 of the 1 newest rows that matched when it was decided ")


def test_rows_that_cannot_be_read_do_not_keep_an_alert_from_being_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start(rule())
    scene.evaluator.run_once()

    def fail(*words: object) -> list[list[object]]:
        raise WarehouseUnavailable("no memory just now")

    monkeypatch.setattr(scene.sender, "_sampled", fail)
    scene.sender.run_once()
    assert scene.body()["rows"] == [] and scene.body()["rows_missing"] == "no memory just now"


def test_a_target_that_does_not_hear_holds_up_the_others_once_in_a_pass(scene: Scene) -> None:
    scene.answers["one"] = Attempt("refused", "no")
    scene.start(*(rule(TRUE, name, ("one", "two")) for name in ("a", "b", "c")))
    told = scene.run()
    assert sorted(target for target, _ in told) == ["one", "two", "two", "two"]


def test_what_people_ask(warehouse: EmbeddedWarehouse) -> None:
    told: list[tuple[str, Message]] = []

    def deliver(target: str, message: Message) -> Attempt:
        told.append((target, message))
        return Attempt("refused", "nobody there") if target == "two" else Attempt("sent")

    text = HEAD + RULE.format(name="a", condition=TRUE, to='["one", "two"]')
    rules = read_rules(text + RULE.format(name="b", condition="nope", to='["one"]'), "alerts.toml")
    alerting = Alerting(rules, warehouse, Limits(), SETTINGS, lambda tenant: warehouse.connect(), deliver)
    said: list[dict[str, Any]] = []
    alerting.command({"action": "test", "rule": "a", "dry_run": True}, lambda line: said.append(dict(line)))
    assert told == [] and said[0]["evaluated"]["fires"] is True
    said.clear()
    alerting.command({"action": "test"}, lambda line: said.append(dict(line)))
    assert [(line["rule"], line.get("target"), line.get("outcome")) for line in said] == [
        ("a", None, None),
        ("a", "one", "sent"),
        ("a", "two", "refused"),
        ("b", None, None),
        ("b", "one", "sent"),
    ]
    assert said[3]["evaluated"]["failure"]
    assert json.loads(told[0][1].body)["test"] is True
    said.clear()
    alerting.command({"action": "list"}, lambda line: said.append(dict(line)))
    assert [line["rule"]["name"] for line in said] == ["a", "b"] and said[0]["alerts"] == []
    with pytest.raises(ConfigError, match="there is no rule 'aa'; did you mean 'a'"):
        alerting.command({"action": "test", "rule": "aa"}, said.append)  # type: ignore[arg-type]
    for wrong in ({}, {"action": "go"}, {"action": "list", "x": 1}, {"action": "test", "rule": 3}):
        with pytest.raises(BadRequest, match="alerts"):
            alerting.command(wrong, said.append)  # type: ignore[arg-type]
