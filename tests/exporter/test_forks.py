"""Children of whole agents: forked plainly, in the middle of a block, by multiprocessing, while the exporter works."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest
from exporter.conftest import MakePipeline
from exporter.programs import SPAN, agent, finished
from exporter.receiver import Receiver


def test_forked_children_send_what_is_theirs_and_nothing_of_the_parents(receiver: Receiver) -> None:
    """As gunicorn with --preload does: set up, spans, fork, spans on both sides; both end by themselves."""
    _, err = finished(
        agent(
            SPAN
            + """
import os, sys, warnings
warnings.simplefilter("ignore")
from retrospan.exporter import instrument
made = instrument()
span("before the fork")
children = []
for number in range(3):
    pid = os.fork()
    if not pid:
        span(f"child {number}")
        sys.exit(0)
    children.append(pid)
span("parent")
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
""",
            receiver,
            RETROSPAN_EXPORTER_DELAY_SECONDS="5",
        )
    )
    assert sorted(receiver.names()) == ["before the fork", "child 0", "child 1", "child 2", "parent"]
    assert err == ""


FORK_IN_A_BLOCK = """
import os, sys
from retrospan.exporter import instrument, run, step
made = instrument()
def fork_and_fail():
    with run("boss"), step("outer"):
        pid = os.fork()
        if not pid:
            with step("in child"): pass
            raise SystemExit(3)
        assert os.waitpid(pid, 0)[1] == 3 << 8
        assert made.flush(20)
        END
END = ...
"""


def test_a_child_that_leaves_the_block_it_was_forked_in_does_not_end_the_spans_of_it(
    receiver: Receiver,
) -> None:
    """The process that began them does, or nobody: where it is killed they are open."""
    code = FORK_IN_A_BLOCK.replace("END = ...", "fork_and_fail()")
    finished(agent(code.replace("        END", "        pass"), receiver))
    assert sorted(receiver.names()) == ["in child", "invoke_agent boss", "outer"]
    receiver.got.clear()
    finished(agent(code.replace("        END", "        os.kill(os.getpid(), 9)"), receiver), -signal.SIGKILL)
    assert receiver.names() == ["in child"]


def test_a_child_that_goes_on_alone_ends_the_spans_of_the_process_that_left(receiver: Receiver) -> None:
    """As one that becomes a daemon does."""
    code = """
import os, time
from retrospan.exporter import instrument, run
made = instrument()
parent = os.getpid()
ready, told = os.pipe()
with run("daemon"):
    if os.fork():
        os.read(ready, 1)
        os._exit(0)
    os.write(told, b"x")
    while os.getppid() == parent:
        time.sleep(0.01)
assert made.flush(20)
"""
    finished(agent(code, receiver))
    assert receiver.names() == ["invoke_agent daemon"]


def test_children_of_multiprocessing_deliver_at_their_end(receiver: Receiver) -> None:
    """They end without atexit."""
    code = (
        SPAN
        + """
import multiprocessing, sys, warnings
warnings.simplefilter("ignore")
from retrospan.exporter import instrument
instrument()
for method in ("fork",):
    children = [multiprocessing.get_context(method).Process(target=span, args=(f"{method} {n}",)) for n in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
"""
    )
    _, err = finished(agent(code, receiver, RETROSPAN_EXPORTER_DELAY_SECONDS="5"))
    assert sorted(receiver.names()) == ["fork 0", "fork 1"]
    assert err == ""


@pytest.mark.parametrize("loaded", ["before instrument()", "after it"])
def test_workers_of_celery_deliver_before_their_pool_ends_them(receiver: Receiver, loaded: str) -> None:
    """A worker that has done its share is ended with a signal as soon as it says so; Celery's own signal comes before."""
    load = 'sys.modules["celery.signals"] = signals\n'
    code = (
        SPAN
        + """
import os, signal, sys, types, warnings
warnings.simplefilter("ignore")
class Signal:
    def __init__(self):
        self.receivers = {}
    def connect(self, receiver, weak, dispatch_uid):
        self.receivers.setdefault(dispatch_uid, receiver)
    def send(self, **values):
        for receiver in self.receivers.values():
            receiver(signal=self, **values)
signals = types.SimpleNamespace(worker_process_shutdown=Signal())
"""
        + (load if loaded == "before instrument()" else "")
        + """
from retrospan.exporter import instrument
instrument()
"""
        + load
        + """
for number in range(2):
    worker = os.fork()
    if not worker:
        span(f"task {number}")
        signals.worker_process_shutdown.send(sender=None, pid=os.getpid(), exitcode=0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
"""
    )
    finished(agent(code, receiver, RETROSPAN_EXPORTER_DELAY_SECONDS="5"))
    assert sorted(receiver.names()) == ["task 0", "task 1"]


def test_a_fork_while_the_exporter_works_never_hangs(receiver: Receiver) -> None:
    finished(
        agent(
            SPAN
            + """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
from retrospan.exporter import instrument
made = instrument()
stop = threading.Event()
def busy():
    tracer = trace.get_tracer("busy")
    while not stop.is_set():
        tracer.start_span("busy").end()
threading.Thread(target=busy, daemon=True).start()
for number in range(10):
    pid = os.fork()
    if not pid:
        made._pipeline.flush(0)
        tracer = made.provider.get_tracer("agent").start_span(f"child {number}").end()
        os._exit(0 if made.flush(20) else 1)
    assert os.waitpid(pid, 0)[1] == 0, number
stop.set()
""",
            receiver,
            RETROSPAN_EXPORTER_DELAY_SECONDS="0.01",
        )
    )
    names = [name for name in receiver.names() if name != "busy"]
    assert sorted(names) == sorted(f"child {number}" for number in range(10))


def test_workers_that_python_does_not_know_to_be_forked_deliver_with_ids_of_their_own(
    receiver: Receiver,
) -> None:
    """As uWSGI's are: no handler of a fork is called, and all draw the same random numbers. Before the fork there is no
    thread of ours: one that held Python's lock at that moment would keep the worker from ever running."""
    code = """
import ctypes, os, sys, threading, types
sys.modules["uwsgi"] = types.ModuleType("uwsgi")
from retrospan.exporter import instrument
made = instrument()
assert [thread.name for thread in threading.enumerate()] == ["MainThread"]
children = []
for number in range(2):
    pid = ctypes.PyDLL(None).fork()
    if not pid:
        span(f"worker {number}")
        os._exit(0 if made.flush(30) else 1)
    children.append(pid)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
"""
    _, err = finished(agent(SPAN + code, receiver))
    assert sorted(receiver.names()) == ["worker 0", "worker 1"]
    assert len({span.trace_id for span in receiver.spans()}) == 2
    assert err == ""


def test_threads_of_a_worker_begin_anew_together_and_lose_nothing(
    pipeline: MakePipeline, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several that see the fork at the same time one begins anew, and the others wait for it."""
    built, provider = pipeline()
    begun, begin = list[int](), built.begin_in_child

    def begin_slowly() -> None:
        begun.append(threading.get_ident())
        time.sleep(0.2)  # long enough for the others to come
        begin()

    monkeypatch.setattr(built, "begin_in_child", begin_slowly)
    built.pulse.pid = -1  # as that of a parent
    tracer, together = provider.get_tracer("worker"), threading.Barrier(8)

    def work(number: int) -> None:
        together.wait()
        tracer.start_span(f"span {number}").end()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(begun) == 1
    assert built.flush(30) and built.counts().delivered == 8
    assert sorted(receiver.names()) == [f"span {number}" for number in range(8)]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:9"},  # where nobody is
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
    ids=lambda environ: " ".join(environ.values()) or "http",
)
def test_nothing_is_imported_beside_the_agent_s_work(
    receiver: Receiver, tmp_path: Path, environ: dict[str, str]
) -> None:
    """A child forked while a thread of ours imports has no such thread, and waits for the end of the import for ever."""
    code = (
        SPAN
        + """
import sys, threading
found = []
def heard(event, given):
    if event == "import" and threading.current_thread() is not threading.main_thread():
        found.append(given[0])
sys.addaudithook(heard)
from retrospan.exporter import instrument, observe, run, step
made = instrument()
with run(agent="a"):
    with step("s", state={"tries": 0}):
        observe("config/x", {"limit": 1})
        span("inner", question="Who is there?")
made.flush(2)
made.shutdown(2)
print(*found)
"""
    )
    at = {"RETROSPAN_EXPORTER_SPOOL": str(tmp_path / "spool"), **environ}
    out, _ = finished(agent(code, None if "OTEL_EXPORTER_OTLP_ENDPOINT" in environ else receiver, **at))
    assert out == "\n"
