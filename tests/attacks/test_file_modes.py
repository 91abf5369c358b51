"""Nothing that a collector writes can be read by other users, whatever umask it was started with.

The parent's umask is 000 here, as that of a careless service manager: modes that nobody chose would show.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacks.every_command import words_of
from fix_collector import Served
from fix_recordings import Recording
from keeping import DAY, agent_run, trace_of

from retrospan.ingest.cli.command_table import COMMANDS
from retrospan.ingest.log.directory import claim
from retrospan.ingest.log.tightening import tighten
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files

COMMAND = (sys.executable, "-m", "retrospan.ingest.cli.main")
RECORDINGS = ("langgraph-openinference/loop", "langgraph-openinference/diverge_a", "openai-agents/normal")
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Careless(Served):
    """A collector whose parent sets no umask."""

    prefix = ("sh", "-c", 'umask 000; exec "$@"', "sh")


def entries(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below a directory, and itself, but links; what goes away meanwhile is left out."""
    yield ".", directory.stat()
    for folder, folders, files in os.walk(directory):
        for name in folders + files:
            path = os.path.join(folder, name)
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                continue
            if not stat.S_ISLNK(found.st_mode):
                yield os.path.relpath(path, directory), found


def open_to_others(directory: Path) -> list[str]:
    """What others than the owner may read, write or enter: a name and its mode each."""
    return [
        f"{name} {stat.S_IMODE(found.st_mode):04o}"
        for name, found in entries(directory)
        if found.st_mode & OTHERS
    ]


def ask(url: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        env={**os.environ, "RETROSPAN_URL": url},
        stdin=subprocess.DEVNULL,
        umask=0,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, home and temporary directory of whatever is started: nothing is to be left there."""
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    for name in ("HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(place))
    # The tests' own interpreter is not what is watched.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return place


def fill(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that arrived two days ago, in the log of a collector that is to start."""
    with monkeypatch.context() as then:
        long_ago = time.time_ns() - 2 * DAY
        then.setattr(time, "time_ns", lambda: long_ago)
        log = WriteAheadLog.open(data / "log", low_water_bytes=0)
        for number in range(20):
            log.append(tenant="default", traces=agent_run(f"old-{number}", "ok"), items=2)
        log.close()


@pytest.mark.soak
def test_nothing_is_open_to_others_after_every_command_was_run_once(
    tmp_path: Path, empty: Path, recordings: dict[str, Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    fill(tmp_path / "data", monkeypatch)
    served = Careless(tmp_path / "data", tmp_path / "stderr.txt")
    try:
        assert open_to_others(served.data) == []
        for name in RECORDINGS:
            served.send(recordings[name].traces, recordings[name].logs)
        served.send([agent_run("a-run", "ok"), agent_run("other-run", "ok")])
        served.wait_idle()
        assert open_to_others(served.data) == []
        words = words_of(tmp_path, trace_of("a-run"))
        assert set(words) == set(COMMANDS) - {"serve", "demo", "torture"}, "every command is run once"
        for name, calls in words.items():
            for call in calls:
                done = ask(f"http://{served.sql}", call)
                # There is nothing that `entity` could tell here, and too little for `drift`: both are asked all the same.
                # The last three replay a program that is not an agent.
                codes = {0, 1, 2} if name in ("entity", "drift", "replay", "fork") else {0, 1}
                codes = {125} if name == "bisect" else codes
                assert done.returncode in codes and "defect" not in done.stderr, (call, done.stderr)
                assert open_to_others(served.data) == [], f"after {name}"
        assert served.rows("SELECT count() AS n FROM retention_log")[0]["n"] > 0, "something went"
        served.kill()
        served.start()
        served.send([agent_run("late-run", "ok")])
        served.wait_idle()
        assert open_to_others(served.data) == []
        assert served.stop() == 0
        for call in (["doctor", "--data", str(served.data)], ["migrate", "--data", str(served.data)]):
            done = ask("http://127.0.0.1:1", call)
            assert done.returncode in (0, 1), (call, done.stderr)
            assert open_to_others(served.data) == [], call
        assert len(list(entries(served.data))) > 300, "there was something to look at"
    finally:
        served.kill()
    # What a command writes for its user has the modes that its user wants.
    assert stat.S_IMODE((tmp_path / "run.pb").stat().st_mode) == 0o666
    assert list(empty.iterdir()) == []


@pytest.mark.soak
def test_a_demo_keeps_to_itself(tmp_path: Path, empty: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "demo", "--serve"], umask=0, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "Still serving" in line:
                break
        (data,) = empty.glob("retrospan-demo-*")
        assert len(list(entries(data))) > 100
        assert open_to_others(data) == []
        demo.send_signal(signal.SIGINT)
        assert demo.wait(timeout=60) == 0
    assert list(empty.iterdir()) == []


@pytest.mark.soak
def test_torture_keeps_to_itself(tmp_path: Path, empty: Path) -> None:
    data = tmp_path / "torture"
    done = subprocess.run(
        [*COMMAND, "torture", "--minutes", "0.05", "--seed", "7", "--data", str(data)],
        umask=0,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(entries(data))) > 100
    assert open_to_others(data) == []
    assert list(empty.iterdir()) == []


def loosen(directory: Path) -> None:
    """As release 0.1 left it where the umask was 022."""
    for name, found in list(entries(directory)):
        (directory / name).chmod(0o755 if stat.S_ISDIR(found.st_mode) else 0o644)


@pytest.mark.long
def test_a_directory_of_an_earlier_release_is_closed_at_the_start(
    tmp_path: Path, recordings: dict[str, Recording]
) -> None:
    served = Careless(tmp_path / "data", tmp_path / "stderr.txt")
    try:
        served.send(recordings[RECORDINGS[0]].traces)
        served.wait_idle()
        assert served.stop() == 0
        loosen(served.data)
        assert len(open_to_others(served.data)) > 100
        (tmp_path / "stderr.txt").write_text("")
        served.start()
        assert open_to_others(served.data) == []
        said = [line for line in served.stderr().splitlines() if "open to others" in line]
        assert len(said) == 1 and f"{served.data} was open to others (mode 0755)" in said[0]
        assert served.rows("SELECT count() AS n FROM spans")[0]["n"] > 0
        assert served.stop() == 0
        (tmp_path / "stderr.txt").write_text("")
        served.start()
        assert "open to others" not in served.stderr()
    finally:
        served.kill()


def made(directory: Path) -> None:
    """A directory like a collector's, open to everybody."""
    for folder in ("log/archive", "warehouse/store/a/b", "warehouse/tmp"):
        (directory / folder).mkdir(parents=True)
    for file in ("lock", "log/1.seg", "log/archive/1.seg.zst", "warehouse/store/a/b/data.bin"):
        (directory / file).write_text("x")
    for name, found in list(entries(directory)):
        (directory / name).chmod(0o777 if stat.S_ISDIR(found.st_mode) else 0o666)


def said_of(call: Callable[[Callable[[str], None]], int]) -> tuple[int, list[str]]:
    said: list[str] = []
    return call(said.append), said


def test_a_start_that_was_killed_while_closing_is_made_good_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    made(data)
    wanted = len(open_to_others(data))
    real, left = os.fchmod, 0

    def dying(descriptor: int, mode: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt  # stands for the kill: nothing behind it runs
        real(descriptor, mode)

    for lives in range(wanted):
        left = lives
        monkeypatch.setattr(os, "fchmod", dying)
        with pytest.raises(KeyboardInterrupt):
            tighten(data)
        monkeypatch.setattr(os, "fchmod", real)
        if lives:
            assert not data.stat().st_mode & OTHERS, "the directory itself comes first"
        tighten(data)
        assert open_to_others(data) == []
        for name, found in list(entries(data)):
            (data / name).chmod(0o777 if stat.S_ISDIR(found.st_mode) else 0o666)
    changed, said = said_of(lambda say: tighten(data, say))
    assert changed == wanted and len(said) == 1
    assert said_of(lambda say: tighten(data, say)) == (0, [])


def test_closing_never_follows_a_link(tmp_path: Path) -> None:
    data, outside = tmp_path / "data", tmp_path / "outside"
    made(data)
    made(outside)
    (data / "log" / "link").symlink_to(outside / "lock")
    (data / "warehouse" / "folder").symlink_to(outside / "log")
    (data / "link").symlink_to(outside)
    before = open_to_others(outside)
    tighten(data)
    assert open_to_others(outside) == before and open_to_others(data) == []


@pytest.mark.parametrize("name", ["tenant.new", "log/1.seg", "log/batches.jsonl"])
def test_what_is_made_is_not_made_where_a_link_leads(tmp_path: Path, name: str) -> None:
    """Left by somebody who could write there while the directory was open."""
    data, victim = tmp_path / "data", tmp_path / "victim"
    (data / "log").mkdir(parents=True)
    victim.write_text("precious")
    (data / name).symlink_to(victim)
    with pytest.raises(OSError):
        if name.endswith(".new"):
            Files().replace(data / "tenant", b"default")
        else:
            Files().create(data / name)
    assert victim.read_text() == "precious"


def test_a_lock_that_is_a_link_is_not_taken(tmp_path: Path) -> None:
    data, victim = tmp_path / "data", tmp_path / "victim"
    data.mkdir()
    victim.write_text("precious")
    (data / "lock").symlink_to(victim)
    with pytest.raises(OSError):
        claim(data)
    assert victim.read_text() == "precious"


def test_a_directory_that_is_named_by_a_link_is_closed(tmp_path: Path) -> None:
    made(tmp_path / "disk")
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    tighten(tmp_path / "data")
    assert open_to_others(tmp_path / "disk") == []


def test_a_tree_deeper_than_a_stack_is_closed(tmp_path: Path) -> None:
    """Somebody who could write in an open directory may have left one."""
    data = tmp_path / "data"
    (data / "log").mkdir(parents=True)
    data.chmod(0o777)
    (data / "log").chmod(0o777)
    os.chdir(data / "log")
    depth = 1500
    for _ in range(depth):
        os.mkdir("d")
        os.chmod("d", 0o777)
        os.chdir("d")
    os.chdir(tmp_path)
    assert tighten(data) == depth + 2
    subprocess.run(["rm", "-rf", str(data)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_a_mount_point_of_another_user_stays_as_it_is_and_that_is_reported(tmp_path: Path) -> None:
    """As with fsGroup in Kubernetes: root's, of our group, 2775."""
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, 4242, -1)
    data.chmod(0o2775)
    served = Careless(data, tmp_path / "stderr.txt")
    try:
        assert f"{data} is open to others (mode 2775) and this process cannot close it" in served.stderr()
        assert {name.split()[0] for name in open_to_others(data)} == {"."}
        found = ask(f"http://{served.sql}", ["doctor", "--data", str(data)]).stdout
        assert "can be entered by others: its mode is 2775, and it belongs to uid 4242" in found
    finally:
        served.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act in the directory of somebody else")
@pytest.mark.parametrize("command", ["migrate", "doctor"])
def test_root_leaves_nothing_in_the_directory_of_another_user_that_he_could_not_read(
    tmp_path: Path, command: str
) -> None:
    data = tmp_path / "data"
    (data / "warehouse").mkdir(parents=True)
    (data / "log").mkdir()
    os.chown(data, 4242, -1)
    before = sorted(name for name, _ in entries(data))
    done = ask("http://127.0.0.1:1", [command, "--data", str(data)])
    assert done.returncode in (1, 2)
    assert (
        "belongs to uid 4242, who could not read files that root creates in it" in done.stdout + done.stderr
    )
    assert sorted(name for name, _ in entries(data)) == before


def test_closing_a_large_directory_takes_no_long_time(tmp_path: Path) -> None:
    data = tmp_path / "data"
    folder = data / "warehouse"
    folder.mkdir(parents=True)
    data.chmod(0o755)
    folder.chmod(0o755)
    for number in range(20_000):
        (folder / str(number)).touch(0o644)
    started = time.process_time()
    assert tighten(data) == 20_002
    assert time.process_time() - started < 20
    started = time.process_time()
    assert tighten(data) == 0
    assert time.process_time() - started < 1, "what is closed is not gone through again"
