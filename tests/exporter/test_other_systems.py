"""The exporter where Linux's calls are not there: without fcntl, without /proc, without users, forks and pread.

What locks files there is a module of Windows; its place is taken by one that locks by the C library.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from exporter.programs import agent, finished
from exporter.receiver import Receiver, attributes

from retrospan.schemas import attributes as names

ELSEWHERE = """
import ctypes, os, sys, types
import multiprocessing, subprocess, tempfile, requests, opentelemetry.sdk.trace  # theirs, as they are

def no_proc(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(arguments[0])

class Taken:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "pwd", "grp", "resource", "termios"):
            raise ModuleNotFoundError(name, name=name)

for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Taken())
flock = ctypes.CDLL(None, use_errno=True).flock

def locking(file, mode, size):
    if flock(file, 2 | 4):
        raise OSError(ctypes.get_errno(), "locked")

sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.modules["msvcrt"].__dict__.update(locking=locking, LK_NBLCK=2)
for name in (
    "fdatasync memfd_create posix_fadvise posix_fallocate pread preadv pwrite pwritev register_at_fork geteuid "
    "getuid getgid fork O_NOFOLLOW O_CLOEXEC O_DIRECTORY sched_getaffinity sched_setaffinity"
).split():
    if hasattr(os, name):
        delattr(os, name)
sys.addaudithook(no_proc)
"""
OBSERVE = """
from retrospan.exporter import instrument, observe, run, step
made = instrument(service_name="clerk", frameworks=[], redaction="secrets")
with run("clerk", id=sys.argv[1] if len(sys.argv) > 1 else "one", input="hello"):
    with step("look", 1, state={"order": "A-17"}):
        observe("order/A-17", {"status": "late"}, id="seen")
"""


def test_an_agent_there_is_recorded() -> None:
    receiver = Receiver()
    try:
        _, err = finished(agent(ELSEWHERE + OBSERVE + "made.shutdown()\n", receiver))
        assert err == ""
        assert len(receiver.spans()) == 2
    finally:
        receiver.close()


def test_what_a_killed_agent_there_said_is_delivered_by_the_next(tmp_path: Path) -> None:
    spool = str(tmp_path / "spool")
    dead = agent(ELSEWHERE + OBSERVE + "made.flush(1)\nos._exit(9)\n", RETROSPAN_EXPORTER_SPOOL=spool,
                 OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")  # fmt: skip
    finished(dead, 9)
    assert list(Path(spool).glob("*.lock")) and list(Path(spool).glob("*.otlp"))
    receiver = Receiver()
    try:
        heir = agent(
            ELSEWHERE + "from retrospan.exporter import instrument\nmade = instrument(frameworks=[])\n"
            "import time\n"
            "deadline = time.monotonic() + 20\n"
            f"while any(n.endswith('.otlp') for n in os.listdir({spool!r})) and time.monotonic() < deadline:\n"
            "    time.sleep(0.05)\n"
            "made.shutdown()\n",
            receiver,
            RETROSPAN_EXPORTER_SPOOL=spool,
        )
        finished(heir)
        assert len(receiver.spans()) == 2
        observed = [attributes(each.attributes) for each in receiver.records(names.OBSERVATION)]
        assert [each[names.OBSERVATION_ID] for each in observed] == ["seen"]
    finally:
        receiver.close()
    assert not list(Path(spool).glob("*.otlp"))


@pytest.mark.parametrize(
    ("told", "protocol"),
    [
        ({}, "http/protobuf"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf"),  # perhaps the distro's
        ({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, "grpc"),
        ({"RETROSPAN_EXPORTER_PROTOCOL": "grpc"}, "grpc"),
    ],
)
def test_no_line_of_an_agent_is_needed_there_either(told: dict[str, str], protocol: str) -> None:
    code = "import retrospan.exporter.zero_code\nprint(os.environ['RETROSPAN_EXPORTER_PROTOCOL'])\n"
    out, _ = finished(agent(ELSEWHERE + code, None, **told))
    assert out == f"{protocol}\n"


def test_every_module_of_the_exporter_can_be_imported_there() -> None:
    code = """
import importlib, pkgutil, retrospan.exporter
for found in pkgutil.walk_packages(retrospan.exporter.__path__, "retrospan.exporter."):
    parts = found.name.split(".")
    # These import the library that they are for.
    if "hooks" not in parts[:-1] and not {"tools", "transports"} & {*parts[:-1]}:
        importlib.import_module(found.name)
assert "fcntl" not in sys.modules and "pwd" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE + code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
