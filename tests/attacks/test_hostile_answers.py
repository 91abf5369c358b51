"""Answers that say what cannot be: what an exporter counts, prints and waits for stays within bounds."""

from __future__ import annotations

import pytest
from attacks.hostile_collector import HostileCollector
from attacks.test_hostile_collector import SPANS, answer, names, run_agent

from retrospan.exporter.delivery.answers import retry_after_seconds, retry_info_seconds
from retrospan.schemas.wire import delimited, varint


def test_what_is_asked_for_is_believed_up_to_five_minutes() -> None:
    asked = ["1e9", "9" * 90, "inf", "1" * 60_000, "-1", "nan", "Fri, 31 Dec 9999 23:59:59 GMT", "x" * 60_000]
    for text in asked:
        assert (retry_after_seconds(text) or 0) <= 300
    for seconds in (10**9, (1 << 64) - 1):
        assert (retry_info_seconds(delimited(1, b"\x08" + varint(seconds))) or 0) <= 300


@pytest.mark.parametrize("number", [(1 << 64) - 1, 1 << 63, 10**18])
def test_more_spans_than_were_sent_cannot_be_rejected(number: int) -> None:
    """The number lost goes into later requests: one that is beyond 64 bits would have stopped them."""
    partial = delimited(1, b"\x08" + varint(number) + delimited(2, b"no\x1b[2J"))
    with HostileCollector(lambda wire: wire.send(answer("200 OK", body=partial)), 4) as collector:
        told = run_agent(collector.port)
    assert told["flushed"] and sum(told["lost"].values()) <= SPANS
    assert told["delivered"] + sum(told["lost"].values()) == SPANS
    assert "\x1b" not in told["said"]


def test_the_description_of_an_answer_is_a_short_line() -> None:
    reason = b"HTTP/1.1 404 \x1b[2J" + b"r" * 60_000 + b"\r\nContent-Length: 0\r\n\r\n"
    with HostileCollector(lambda wire: wire.send(reason), 2) as collector:
        told = run_agent(collector.port)
    assert told["flushed"]
    assert "\x1b" not in told["said"] and max(map(len, told["said"].splitlines())) < 1_000


@pytest.mark.long
def test_a_numbered_answer_that_is_none_loses_nothing() -> None:
    for code in (199, 600, 999):
        with HostileCollector(lambda wire: wire.send(answer(f"{code} What"))) as collector:  # noqa: B023
            told = run_agent(collector.port)
            assert told["flushed"] and told["lost"] == {} and sorted(set(collector.names())) == names()
