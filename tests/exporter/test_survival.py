"""Agents that are killed: what they said is delivered by the next on their spool, or by `retrospan spool send`, once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from exporter.programs import SPAN, agent, finished
from exporter.receiver import TAKEN, Receiver, Reply, attributes

from retrospan.exporter.delivery.spool import Spool
from retrospan.schemas import attributes as names

#: The promise is 0.1 s on a machine that has time for the agent; this one has other tests to run.
MOMENT_NS = 300_000_000
#: Observes for ever; says on standard output what it has said, and when, each line after the call.
OBSERVING = """
import sys, time
from retrospan.exporter import instrument, observe, run, step
made = instrument(service_name="clerk")
with run("clerk", id=sys.argv[1] if len(sys.argv) > 1 else "mine", input="hello", conversation="c"):
    with step("look", 1, state={"order": "A-17"}):
        number = 0
        while True:
            observe(f"order/{number}", {"status": "late"}, id=f"o{number}")
            print(number, time.monotonic_ns(), flush=True)
            number += 1
            time.sleep(0.002)
"""


def killed_while_observing(receiver: Receiver, seconds: float, **environ: str) -> tuple[int, int]:
    """Kill an agent amid its work; return the last observation that it had made a moment before, and its pid."""
    process = agent(OBSERVING, receiver, **environ)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    at = time.monotonic_ns()
    out, err = process.communicate(timeout=30)
    assert "Traceback" not in err and len(err.splitlines()) <= 1
    said = [tuple(map(int, line.split())) for line in out.splitlines() if len(line.split()) == 2]
    return max((number for number, when in said if when < at - MOMENT_NS), default=-1), process.pid


def observed(receiver: Receiver) -> list[str]:
    return [
        str(attributes(each.attributes)[names.OBSERVATION_ID]) for each in receiver.records(names.OBSERVATION)
    ]


def sends(directory: Path, receiver: Receiver | None = None, code: int = 0, *flags: str) -> tuple[Any, str]:
    """Run `retrospan spool send`; return what it says as JSON, and on standard error."""
    out, err = sends_in_words(directory, receiver, code, "--json", *flags)
    return json.loads(out) if out else None, err


def sends_in_words(
    directory: Path, receiver: Receiver | None = None, code: int = 0, *flags: str
) -> tuple[str, str]:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RETROSPAN_"))
    }
    if receiver is not None:
        clean["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url.removesuffix("/v1/traces")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "retrospan.ingest.cli.main",
            "spool",
            "send",
            str(directory),
            *flags,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("seconds", [0.5, 0.9])
def test_with_a_spool_all_that_was_said_is_there_once_whoever_delivers_it(
    receiver: Receiver, tmp_path: Path, seconds: float
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    spool = tmp_path / "spool"
    last, pid = killed_while_observing(receiver, seconds, RETROSPAN_EXPORTER_SPOOL=str(spool))
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    # Somewhere else, as another process finds it.
    moved = Path(shutil.move(spool, tmp_path / "moved"))
    told, _ = sends(moved, receiver)
    found = observed(receiver)
    assert last > 0 and set(found) >= {f"o{number}" for number in range(last + 1)}
    assert max(Counter(found).values()) == 1
    begun = {attributes(each.attributes)[names.BEGUN_NAME]: each for each in receiver.records(names.BEGUN)}
    assert set(begun) == {"invoke_agent clerk", "look"}
    root = attributes(begun["invoke_agent clerk"].attributes)
    assert (root[names.RUN_ID], root["gen_ai.agent.name"], root["gen_ai.conversation.id"]) == (
        "mine",
        "clerk",
        "c",
    )
    assert attributes(begun["look"].attributes)[names.STATE_BEFORE] == '{"order":"A-17"}'
    (dead,) = receiver.records(names.KILLED)
    assert attributes(dead.attributes) == {names.PROCESS_ID: root[names.PROCESS_ID], "process.pid": pid}
    assert told["killed"] == 1 and told["requests_left"] == 0 and told["spans"] == 0
    assert told["log_records"] == len(receiver.records()) - 1
    assert list(moved.iterdir()) == []


def test_without_a_spool_what_was_said_is_sent_while_the_collector_is_up(receiver: Receiver) -> None:
    last, _ = killed_while_observing(receiver, 0.8)
    found = observed(receiver)
    assert last > 0 and set(found) >= {f"o{number}" for number in range(last + 1)}
    assert max(Counter(found).values()) == 1 and receiver.names() == []
    assert len(receiver.records(names.BEGUN)) == 2 and len(receiver.records(names.ALIVE)) == 1


def test_the_next_process_on_the_spool_says_that_the_last_was_killed_and_says_it_once(
    receiver: Receiver, tmp_path: Path
) -> None:
    _, pid = killed_while_observing(receiver, 0.3, RETROSPAN_EXPORTER_SPOOL=str(tmp_path))
    assert list(tmp_path.glob("*.lock")), "all was delivered, and the lock still tells that nobody closed it"
    heir = (
        SPAN
        + "from retrospan.exporter import instrument\nmade = instrument()\nspan('heir')\nassert made.flush(20)"
    )
    for _ in range(2):
        finished(agent(heir, receiver, RETROSPAN_EXPORTER_SPOOL=str(tmp_path)))
    (dead,) = receiver.records(names.KILLED)
    assert attributes(dead.attributes)["process.pid"] == pid
    assert receiver.names() == ["heir", "heir"] and list(tmp_path.iterdir()) == []


def test_where_all_had_been_delivered_it_says_that_only_the_death_was_left(
    receiver: Receiver, tmp_path: Path
) -> None:
    once = OBSERVING.replace("while True:", "for _ in range(1):") + "\n    time.sleep(60)"
    process = agent(once, receiver, RETROSPAN_EXPORTER_SPOOL=str(tmp_path))
    deadline = time.monotonic() + 20
    while observed(receiver) != ["o0"] or any(path.suffix != ".lock" for path in tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=30)
    out, _ = sends_in_words(tmp_path, receiver)
    assert out == (
        "1 process died: the spool held nothing more to deliver, and the collector now knows that it was killed\n"
    )
    assert len(receiver.records(names.KILLED)) == 1
    out, _ = sends_in_words(tmp_path, receiver)
    assert out == f"there is nothing to send in {tmp_path}\n"


def test_a_process_that_ended_while_the_collector_was_away_was_not_killed(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    finished(
        agent(
            SPAN + "from retrospan.exporter import instrument\ninstrument()\nspan('one')",
            receiver,
            RETROSPAN_EXPORTER_SPOOL=str(tmp_path),
        )
    )
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    told, _ = sends(tmp_path, receiver)
    assert receiver.names() == ["one"] and receiver.records(names.KILLED) == []
    assert (told["spans"], told["killed"]) == (1, 0)
    assert list(tmp_path.iterdir()) == []


def test_two_processes_on_one_spool_deliver_each_record_once(receiver: Receiver, tmp_path: Path) -> None:
    code = OBSERVING.replace('f"o{number}"', 'f"{NAME}{number}"')
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    # The first goes on until it is killed.
    agents = [
        agent(
            code.replace("while True", f"while number < {number}").replace("NAME", repr(name)),
            receiver,
            RETROSPAN_EXPORTER_SPOOL=str(tmp_path),
        )
        for name, number in (("a", 1_000_000), ("b", 200))
    ]
    for each in agents:
        receiver.until(lambda pid=each.pid: any(tmp_path.glob(f"*-{pid}-*.logs")))  # type: ignore[misc]
    agents[0].send_signal(signal.SIGKILL)
    agents[0].communicate(timeout=30)
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    finished(agents[1])
    sends(tmp_path, receiver)
    found = observed(receiver)
    assert {f"b{number}" for number in range(200)} <= set(found) and "a0" in found
    assert max(Counter(found).values()) == 1 and len(receiver.records(names.KILLED)) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_spool_cut_in_the_middle_of_a_record_loses_that_file_alone(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    killed_while_observing(receiver, 0.6, RETROSPAN_EXPORTER_SPOOL=str(tmp_path))
    files = sorted(tmp_path.glob("*.logs"))
    assert len(files) > 2
    cut = files[1].read_bytes()
    files[1].write_bytes(cut[: len(cut) // 2])
    lock = next(tmp_path.glob("*.lock"))
    lock.write_bytes(lock.read_bytes()[:9])
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    told, err = sends(tmp_path, receiver, 2)
    assert told["lost"] and "damaged" in err
    assert receiver.records(names.KILLED) == [], "what a lock that was cut off says is not known"
    assert len(observed(receiver)) > 10 and max(Counter(observed(receiver)).values()) == 1
    assert [path.suffix for path in tmp_path.iterdir()] == [".damaged"]
    assert sends(tmp_path, receiver)[0]["spans"] == 0


def test_with_the_collector_away_nothing_is_lost(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    killed_while_observing(receiver, 0.3, RETROSPAN_EXPORTER_SPOOL=str(tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.logs")}
    told, err = sends(tmp_path, None, 2, "--endpoint", "http://127.0.0.1:9")
    assert told["requests_left"] == len(before) + 1 and "127.0.0.1:9" in err and "retrospan serve" in err
    receiver.answer = receiver.answer_logs = lambda body: Reply(401)
    _, err = sends(tmp_path, receiver, 2)
    assert "RETROSPAN_TOKEN" in err
    # A receiver that takes spans alone: what is nowhere else stays.
    receiver.answer = lambda body: TAKEN
    receiver.answer_logs = lambda body: Reply(404)
    _, err = sends(tmp_path, receiver, 2)
    assert "no log records" in err
    now = {path.name: path.read_bytes() for path in tmp_path.glob("*.logs")}
    assert before.items() <= now.items()
    receiver.answer_logs = lambda body: TAKEN
    told, _ = sends(tmp_path, receiver)
    assert told["requests_left"] == 0 and len(receiver.records(names.KILLED)) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_sent_is_said(receiver: Receiver, tmp_path: Path) -> None:
    _, err = sends(tmp_path / "none", receiver, 2)
    assert "there is no directory" in err
    (tmp_path / "file").touch()
    assert "is not a directory" in sends(tmp_path / "file", receiver, 2)[1]
    living = Spool(tmp_path / "living", 1 << 20)
    living.write(b"", 0)
    _, err = sends(living.directory, receiver, 2)
    assert f"running process (pid {os.getpid()})" in err and len(list(living.directory.glob("*.otlp"))) == 1
    living.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_a_spool_of_another_user_is_left_to_them(receiver: Receiver, tmp_path: Path) -> None:
    os.chown(tmp_path, 4242, -1)
    assert "belongs to the user 4242" in sends(tmp_path, receiver, 2)[1]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_raises_nothing_in_the_agent_and_costs_nothing(
    receiver: Receiver, small_disk: Path
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    code = OBSERVING.replace("while True:", "while number < 150:").replace('"late"', '"late" * 1000')
    process = agent(code + "\nassert made.flush(30)\nprint(made.counts().lost, made.counts().records.lost)", receiver,
                    RETROSPAN_EXPORTER_SPOOL=str(small_disk))  # fmt: skip
    assert process.stdout is not None
    while not process.stdout.readline().startswith("149 "):
        pass
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    out, err = finished(process)
    assert out.splitlines()[-1] == "{} {}"
    assert "cannot be written" in err and "Traceback" not in err
    found = observed(receiver)
    assert set(found) == {f"o{number}" for number in range(150)} and max(Counter(found).values()) == 1
    assert list(small_disk.iterdir()) == []


def test_a_clock_that_is_set_back_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([5_000, 4_000, 4_000, 1, 9_000])
    spool = Spool(tmp_path, 1 << 20)
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    for number in range(5):
        spool.write(b"%d" % number, 1)
    spool.leave_to_parent()
    monkeypatch.undo()
    heir = Spool(tmp_path, 1 << 20)
    assert [heir.read(each)[0] for each in heir.adopt()] == [b"0", b"1", b"2", b"3", b"4"]
    heir.close()


def test_a_child_is_a_process_of_its_own(receiver: Receiver) -> None:
    finished(
        agent(
            SPAN
            + """
import os, sys, warnings
warnings.simplefilter("ignore")
from retrospan.exporter import instrument
made = instrument()
span("parent")
pid = os.fork()
if not pid:
    span("child")
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
""",
            receiver,
        )
    )
    found = {each[names.BEGUN_NAME]: each for each in map(_said, receiver.records(names.BEGUN))}
    assert found["parent"][names.PROCESS_ID] != found["child"][names.PROCESS_ID]
    assert found["parent"]["process.pid"] != found["child"]["process.pid"]
    assert len(receiver.records(names.BEGUN)) == 2


def _said(record: Any) -> dict[str, Any]:
    return attributes(record.attributes)
