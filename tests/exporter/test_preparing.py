"""What delivery does where it cannot begin: it tries again, and says why without saying a secret."""

from __future__ import annotations

import pytest
from exporter.conftest import MakePipeline
from exporter.programs import SPAN, agent, finished
from exporter.receiver import Receiver
from exporter.test_delivery import lines, record

from retrospan.exporter.delivery.answers import Answer, Transport
from retrospan.exporter.delivery.http import HttpTransport
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.delivery.transports import made_transport
from retrospan.exporter.settings import Settings

SECRET = "s3cr3t"


def test_a_transport_that_cannot_be_made_at_first_is_made_later(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    built, provider = pipeline()
    make, tries = built._make_transport, iter([LookupError("no such file"), LookupError("no such file")])

    def failing() -> Transport:
        if (error := next(tries, None)) is not None:
            raise error
        return make()

    built._make_transport = failing
    record(provider, "one")
    assert built.flush(60)
    assert receiver.names() == ["one"] and built.counts().lost == {}
    (line,) = lines(caplog)
    assert "no such file" in line


def test_an_error_that_nobody_expected_does_not_end_delivery(
    pipeline: MakePipeline,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    built, provider = pipeline()
    send, errors = HttpTransport.send, iter([RuntimeError("odd")])

    def once(transport: HttpTransport, body: bytes, signal: Signal = Signal.TRACES) -> Answer:
        if body and (error := next(errors, None)) is not None:
            raise error
        return send(transport, body, signal)

    monkeypatch.setattr(HttpTransport, "send", once)
    record(provider, "one", "two")
    assert built.flush(60)
    assert receiver.names() == ["one", "two"] and built.counts().lost == {}
    (line,) = lines(caplog)
    assert "RuntimeError" in line


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_an_error_of_the_library_that_repeats_a_header_is_not_repeated(
    receiver: Receiver, protocol: str
) -> None:
    """Settings let no such header through; a release of the library may yet find fault with one."""
    if protocol == "grpc":
        pytest.importorskip("grpc")
    settings = Settings(
        endpoint=receiver.url if protocol != "grpc" else f"http://127.0.0.1:{receiver.port}",
        protocol=protocol,
        insecure=True,
        headers={"authorization": f"Bearer {SECRET}\nx"},
        timeout_seconds=5,
    )
    transport = made_transport(settings)
    answer = transport.send(b"")
    transport.close()
    assert answer.reason and SECRET not in answer.reason


def test_a_token_with_the_line_end_of_its_file_delivers_and_is_in_no_log(receiver: Receiver) -> None:
    _, err = finished(
        agent(
            SPAN
            + "import logging\nlogging.basicConfig()\nfrom retrospan.exporter import instrument\n"
            + "made = instrument()\nspan('one')\nassert made.flush(60)",
            receiver,
            RETROSPAN_TOKEN=f"{SECRET}\n",
        )
    )
    assert receiver.names() == ["one"] and SECRET not in err
    assert receiver.requests()[0].headers["authorization"] == f"Bearer {SECRET}"


def test_arguments_that_cannot_be_used_are_refused_and_the_next_call_works(receiver: Receiver) -> None:
    out, _ = finished(
        agent(
            SPAN
            + """
from retrospan.exporter import instrument
from retrospan.schemas.errors import ConfigError
for wrong in ({"resource": [1]}, {"spool": "a\\0b"}, {"headers": [("a", "b")]}, {"token": "a\\nb"}):
    try:
        instrument(**wrong)
    except ConfigError as error:
        print(next(iter(wrong)) in str(error))
made = instrument()
span("one")
assert made.flush(60)
""",
            receiver,
        )
    )
    assert out.split() == ["True"] * 4 and receiver.names() == ["one"]
