"""The torture itself: it finds what is broken, and a collector of ours passes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from heeding import heeding

from retrospan.ingest.cli.main import main
from retrospan.torture import session
from retrospan.torture.command import summary
from retrospan.torture.exporters import Account
from retrospan.torture.failpoints import FAILPOINTS, RETENTION_FAILPOINTS, Failpoint
from retrospan.torture.session import Torture, Verdict, compare
from retrospan.torture.victim import Victim

NAMES = {("aa", "01"): "chat 0/1/1", ("aa", "02"): "chat 0/1/2"}


def account() -> Account:
    return Account(sent=4, acknowledged=dict(NAMES), rejected=1, refused=1, hashes={"h"})


def judged(
    spans: list[list[object]], *, count: int | None = None, hashes: tuple[str, ...] = ("h",)
) -> Verdict:
    def rows(query: str) -> list[list[object]]:
        if "uniqExact" in query:
            return [[len(spans) if count is None else count, len(spans)]]
        if "rejects" in query:
            return [[text] for text in hashes]
        return spans

    verdict = Verdict(seed=5)
    compare([account()], rows, verdict)
    return verdict


WHOLE: list[list[object]] = [["aa", "01", "chat 0/1/1"], ["aa", "02", "chat 0/1/2"]]


@pytest.mark.parametrize(
    "point", [*FAILPOINTS.values(), *RETENTION_FAILPOINTS.values()], ids=[*FAILPOINTS, *RETENTION_FAILPOINTS]
)
def test_a_failpoint_is_a_method_of_the_collector(point: Failpoint) -> None:
    """They are named by text, which no type checker follows when a method is renamed."""
    assert callable(getattr(point.owner, point.method, None))


def test_a_whole_store_breaks_nothing() -> None:
    verdict = judged(WHOLE)
    assert verdict.broken == []
    assert (verdict.sent, verdict.stored, verdict.rejected, verdict.refused) == (4, 2, 1, 1)
    assert "sent 4, acknowledged 2, stored 2, rejected 1, refused 1" in summary(verdict)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (judged(WHOLE[:1]), "1 acknowledged spans are missing, such as ('aa', '02')"),
        (judged(WHOLE[:1]), "sent 4 is not stored 1 + rejected 1 + refused 1"),
        (judged([*WHOLE, ["aa", "03", "x"]]), "1 spans are stored that were not acknowledged"),
        (judged([WHOLE[0], ["aa", "02", "other"]]), "1 spans are stored with another content"),
        (judged(WHOLE, count=3), "the view spans has 3 rows for 2 keys"),
        (judged(WHOLE, hashes=()), "1 rejected or refused requests are not in the view rejects"),
    ],
)
def test_each_broken_promise_is_named(verdict: Verdict, said: str) -> None:
    assert any(said in sentence for sentence in verdict.broken), verdict.broken
    assert any(line.startswith("BROKEN: ") for line in summary(verdict))
    assert "to repeat: retrospan torture --seed 5" in summary(verdict)


def test_it_does_not_touch_a_directory_that_holds_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious").touch()
    assert main(["torture", "--data", str(tmp_path)]) == 2
    assert "is not an empty directory" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "soon"])
def test_minutes_are_a_number_above_zero(minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["torture", "--minutes", minutes]) == 2
    assert "is not a number of minutes above 0" in capsys.readouterr().err


@pytest.mark.long
def test_ctrl_c_ends_it_and_the_collector(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "retrospan.ingest.cli.main", "torture", "--data", str(tmp_path / "data")]
    with subprocess.Popen(heeding(command), stderr=subprocess.PIPE, text=True) as torture:
        assert torture.stderr is not None
        while "after it was" not in torture.stderr.readline():
            assert torture.poll() is None
        torture.send_signal(signal.SIGINT)
        torture.stderr.read()
        assert torture.wait(60) == 130
    lock = tmp_path / "data" / "data" / "lock"
    if lock.exists() and lock.read_text():
        with pytest.raises(ProcessLookupError):
            os.kill(int(lock.read_text()), 0)


def test_an_interrupt_while_a_collector_is_being_started_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Victim] = []

    class Interrupted(Victim):
        def __init__(self, data: Path, log: Path, point: tuple[str, int] | None = None) -> None:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.2)  # the main thread hears of it before the process is there
            super().__init__(data, log, point)
            started.append(self)

    monkeypatch.setattr(session, "Victim", Interrupted)
    # A process of pytest-xdist ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Torture(tmp_path, 1, 60.0, lambda _: None).run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert [victim.ended for victim in started] == [True]


@pytest.mark.soak
@pytest.mark.requirement("R01", "R02")
def test_every_acknowledged_span_survives_kills_at_random_and_at_named_points(tmp_path: Path) -> None:
    lines: list[str] = []
    verdict = Torture(tmp_path, 20, 60.0, lines.append, least_kills=2 * len(FAILPOINTS)).run()
    assert verdict.broken == [], lines[-5:]
    assert verdict.kills >= 40
    assert verdict.acknowledged == verdict.stored > 500
    # A busy machine may not get to a point while it is waited for: that one is killed otherwise, and counts as in vain.
    assert len(set(FAILPOINTS) - set(verdict.points)) <= 2
    assert verdict.sent == verdict.stored + verdict.rejected + verdict.refused
    assert min(verdict.rejected, verdict.refused, verdict.repeated) > 0
