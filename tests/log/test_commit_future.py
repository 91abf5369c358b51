"""The promise of one record, as those who wait for it see it."""

from __future__ import annotations

import threading

import pytest

from retrospan.ingest.log.commit_future import CommitFuture
from retrospan.schemas.errors import LogFull


def test_all_who_wait_hear_the_same_and_so_does_who_comes_late() -> None:
    durable = CommitFuture()
    heard: list[int] = []
    waiting = [threading.Thread(target=lambda: heard.append(durable.result(30))) for _ in range(4)]
    for thread in waiting:
        thread.start()
    assert not durable.done() and heard == []
    durable.set_result(7)
    for thread in waiting:
        thread.join()
    assert durable.done() and heard == [7] * 4
    assert durable.result() == durable.result(0) == 7


def test_what_is_not_on_disk_is_not_promised() -> None:
    durable = CommitFuture()
    with pytest.raises(TimeoutError, match="not on disk after 0 s"):
        durable.result(0)
    durable.set_exception(LogFull("no room"))
    assert durable.done()
    for _ in range(2):
        with pytest.raises(LogFull, match="no room"):
            durable.result()
