"""Agents whose threads are gevent's greenlets: nothing of the exporter stops them all, whenever they became greenlets."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from exporter.programs import agent, finished
from exporter.receiver import Receiver

PATCH = "from gevent import monkey; monkey.patch_all()\n"
#: Greenlets with runs of their own.
AGENTS = """
import gevent
from retrospan.exporter import instrument, run, step
made = instrument()
def work(number):
    with run(f"agent {number}"):
        for each in range(3):
            with step(f"step {each}"):
                gevent.sleep(0.01)
def work_all():
    gevent.joinall([gevent.spawn(work, number) for number in range(20)])
"""
ALL = sorted(
    [f"invoke_agent agent {number}" for number in range(20)] + [f"step {each}" for each in range(3)] * 20
)


def test_greenlets_have_runs_of_their_own_and_all_are_delivered_at_the_end(receiver: Receiver) -> None:
    _, err = finished(agent(PATCH + AGENTS + "work_all()", receiver))
    assert sorted(receiver.names()) == ALL
    assert err == ""


def test_a_worker_whose_threads_become_greenlets_after_its_fork_is_not_stopped(receiver: Receiver) -> None:
    """As gunicorn --preload with workers of gevent does: set up, fork, and then everything is patched."""
    code = (
        AGENTS
        + """
import os, sys, warnings
warnings.simplefilter("ignore")
pid = os.fork()
if not pid:
    from gevent import monkey
    monkey.patch_all()
    work_all()
    assert made.flush(30), made.counts()
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    )
    _, err = finished(agent(code, receiver))
    assert sorted(receiver.names()) == ALL
    assert err == ""


WAIT_FOR_THE_ATTEMPT = """
import os, sys
work_all()
while not os.path.exists(sys.argv[1]):
    gevent.sleep(0.01)
work_all()
print("worked on")
"""


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_receiver_that_never_answers_keeps_no_greenlet_waiting(protocol: str, tmp_path: Path) -> None:
    """An attempt lasts for an hour here, and neither the work nor the end of the program waits for it."""
    begun = tmp_path / "begun"
    code = f"import sys; sys.argv.append({str(begun)!r})\n" + PATCH + AGENTS + WAIT_FOR_THE_ATTEMPT
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = agent(
            code,
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{silent.getsockname()[1]}",
            RETROSPAN_EXPORTER_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_TIMEOUT="3600",
        )
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1)
            begun.touch()
            out, err = finished(process)
    assert out == "worked on\n"
    assert "160 span(s) of this process were lost" in err
