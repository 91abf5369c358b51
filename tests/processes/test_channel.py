"""The pair of sockets between the two processes: calls, notices, errors, and an other end that is hostile or gone."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

import pytest

from retrospan.ingest.channel import Arguments, Channel, ChannelClosed
from retrospan.schemas.errors import LogFull, SqlError, Unauthenticated, WarehouseUnavailable


class Ends:
    """Both ends, with what the second has heard."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.heard: list[int] = []
        self.ended = threading.Event()
        self.waiting = threading.Event()
        self.asking = Channel(ours.detach(), {}, {}, self.ended.set)
        self.answering = Channel(
            theirs.detach(),
            {"double": lambda asked: 2 * asked["n"], "fail": self._fail, "hang": self._hang},
            {"hear": lambda told: self.heard.append(told["n"])},
        )
        self.asking.start()
        self.answering.start()

    def _fail(self, asked: Arguments) -> None:
        match asked["how"]:
            case "sql":
                raise SqlError("no such table", code=60)
            case "token":
                raise Unauthenticated("a token is needed", missing=True)
            case "full":
                raise LogFull("the log is full")
            case _:
                raise ZeroDivisionError("secret words")

    def _hang(self, asked: Arguments) -> None:
        self.waiting.wait(30)


@pytest.fixture
def ends() -> Iterator[Ends]:
    both = Ends()
    yield both
    both.waiting.set()
    both.asking.close()
    both.answering.close()


def test_calls_from_many_threads_each_get_their_own_answer(ends: Ends) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda n: ends.asking.call("double", {"n": n}), range(500)))
    assert found == [2 * n for n in range(500)]


def test_notices_are_heard_in_order(ends: Ends) -> None:
    for number in range(200):
        ends.asking.tell("hear", {"n": number})
    ends.asking.call("double", {"n": 1})
    assert ends.heard == list(range(200))


def test_an_error_arrives_as_itself(ends: Ends) -> None:
    with pytest.raises(SqlError, match="no such table") as sql:
        ends.asking.call("fail", {"how": "sql"})
    assert sql.value.code == 60
    with pytest.raises(Unauthenticated) as token:
        ends.asking.call("fail", {"how": "token"})
    assert token.value.missing
    with pytest.raises(LogFull):
        ends.asking.call("fail", {"how": "full"})


def test_an_error_that_nobody_expected_says_its_kind_and_not_its_words(ends: Ends) -> None:
    with pytest.raises(WarehouseUnavailable, match="ZeroDivisionError") as found:
        ends.asking.call("fail", {"how": "other"})
    assert "secret" not in str(found.value)


def test_an_end_that_does_not_answer_is_waited_for_no_longer_than_asked(ends: Ends) -> None:
    with pytest.raises(ChannelClosed, match=r"within 0\.1 s"):
        ends.asking.call("hang", timeout=0.1)


def test_who_waits_hears_that_the_other_end_is_gone(ends: Ends) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ends.asking.call, "hang")
        ends.asking.call("double", {"n": 1})
        ends.answering.close()
        with pytest.raises(ChannelClosed):
            waiting.result(30)
    assert ends.ended.wait(30)
    with pytest.raises(ChannelClosed):
        ends.asking.call("double", {"n": 1})
    with pytest.raises(ChannelClosed):
        ends.asking.tell("hear", {"n": 1})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'"text"',
        b'{"call": "unknown", "with": {}}',
        b"\x80\x04\x95.",
        b"[" * 100_000,
    ],
)
def test_what_does_not_speak_the_language_is_no_longer_listened_to(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    ended = threading.Event()
    channel = Channel(ours.detach(), {}, {}, ended.set)
    channel.start()
    with Connection(theirs.detach()) as hostile:
        hostile.send_bytes(data)
        assert ended.wait(30)
    with pytest.raises(ChannelClosed):
        channel.call("double", {"n": 1})


def test_only_the_thread_that_reads_closes_the_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    # Closed by another, its number may be another socket's before the reader notices: it would take what is sent there.
    closed_by: list[str] = []
    close = Connection.close

    def noting(connection: Connection) -> None:
        closed_by.append(threading.current_thread().name)
        close(connection)

    monkeypatch.setattr(Connection, "close", noting)
    for _ in range(50):
        ends = Ends()
        ends.asking.call("double", {"n": 1})
        ends.asking.close()
        assert ends.ended.wait(30)
    assert {*closed_by} == {"retrospan-channel"}


def test_a_call_that_nobody_offers_is_refused_and_the_channel_goes_on(ends: Ends) -> None:
    with pytest.raises(WarehouseUnavailable, match="KeyError"):
        ends.asking.call("shutdown")
    assert ends.asking.call("double", {"n": 4}) == 8


def test_an_error_of_another_class_cannot_be_made_by_its_name() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours.detach(), {}, {})
    channel.start()
    with Connection(theirs.detach()) as hostile, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(channel.call, "anything")
        number = json.loads(hostile.recv_bytes())["number"]
        hostile.send_bytes(
            json.dumps(
                {"number": number, "fails": {"kind": "annotations", "message": "m", "known": {}}}
            ).encode()
        )
        with pytest.raises(WarehouseUnavailable, match="m"):
            asked.result(30)
    channel.close()
