"""A system that has no thread to give for a moment: delivery begins once it has, and nothing raises meanwhile."""

from __future__ import annotations

import threading

import pytest
from exporter.conftest import MakePipeline
from exporter.programs import SPAN, agent, finished
from exporter.receiver import Receiver, attributes
from exporter.test_delivery import lines, record

from retrospan.exporter.delivery import notices

#: Leaves room for anything but the stack of a thread.
SHORT = """
import resource, threading
def limit(more):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more if more else resource.RLIM_INFINITY, resource.RLIM_INFINITY))
threading.stack_size(1 << 30)
"""


def test_instrument_where_no_thread_can_be_started(receiver: Receiver) -> None:
    out, err = finished(
        agent(
            SPAN
            + SHORT
            + """
from retrospan.exporter import instrument
limit(300 << 20)
made = instrument(service_name="shop")
assert instrument() is made
span("one")
print(made.flush(0), made.counts().lost)
limit(0)
span("two")
print(made.flush(60), made.counts().lost)
""",
            receiver,
        )
    )
    assert out.splitlines() == ["False {}", "True {}"]
    assert receiver.names() == ["one", "two"]
    assert err.count("delivery cannot begin") == 1 and "Traceback" not in err
    resource = receiver.requests()[0].parsed().resource_spans[0].resource
    assert attributes(resource.attributes)["service.name"] == "shop"


def test_a_forked_worker_whose_first_span_ends_where_no_thread_can_be_started(receiver: Receiver) -> None:
    finished(
        agent(
            SPAN
            + SHORT
            + """
import os, warnings
warnings.simplefilter("ignore")
from retrospan.exporter import instrument
made = instrument()
span("parent")
assert made.flush(60)
pid = os.fork()
if not pid:
    limit(300 << 20)
    span("first")
    limit(0)
    span("second")
    os._exit(0 if made.flush(60) and made.shutdown(60) and not made.counts().lost else 1)
assert os.waitpid(pid, 0)[1] == 0
""",
            receiver,
        )
    )
    assert receiver.names() == ["parent", "first", "second"]


@pytest.mark.parametrize("failing", ["retrospan-encode", "retrospan-send"])
def test_neither_thread_runs_without_the_other(
    pipeline: MakePipeline,
    receiver: Receiver,
    failing: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    start, tries = threading.Thread.start, iter(range(3))

    def refuse(thread: threading.Thread) -> None:
        if thread.name == failing and next(tries, None) is not None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    built, provider = pipeline(memory_bytes=30_000)
    # More than the memory holds: what is refused tries again, too.
    record(provider, *(f"span {number}" for number in range(20)))
    assert built.flush(60)
    assert receiver.names()[0] == "span 0"
    assert len([line for line in lines(caplog) if "delivery cannot begin" in line]) == 1
    assert built.counts().lost.keys() <= {notices.MEMORY_FULL}
    assert [each.name for each in threading.enumerate()].count(failing) >= 1


def test_what_no_thread_was_there_to_deliver_is_counted_at_the_end(
    pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    built, provider = pipeline()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        record(provider, "one")
        assert not built.shutdown(5)
    assert built.counts().lost == {notices.SHUT_DOWN: 1}
    assert any("1 span(s) of this process were lost" in line for line in lines(caplog))


@pytest.mark.parametrize("timeout", [None, float("inf"), float("nan"), "x", -1, 1e300])
def test_a_wait_without_sense_or_end_does_not_raise(pipeline: MakePipeline, timeout: float) -> None:
    built, provider = pipeline()
    record(provider, "one")
    assert built.flush(60)
    assert built.flush(timeout)
    built.shutdown(timeout)
