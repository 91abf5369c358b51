"""R17, R18, R20, R30: every line of what OTLP asks of a server, over gRPC and HTTP, in protobuf and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import otlp_requests as make
import pytest
from conformance.senders import CONTENT_TYPES, WAYS, Signal, Way, encoded, send
from conformance.table import BAD, BY_LIBRARY, EMPTY, PARTIAL, RETRY, RULES, UNTYPED, Rule, request
from receive.conftest import REQUEST_BYTES, Disk, Station

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.config import Limits

CODES = {"INVALID_ARGUMENT": 3, "RESOURCE_EXHAUSTED": 8, "UNIMPLEMENTED": 12, "UNAVAILABLE": 14}
STATUS_OF_HTTP = {"400": 3, "404": 5, "405": 12, "408": 14, "413": 8, "415": 3, "503": 14}


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    disk = Disk()
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=1000, files=disk)
    made = Station(log, disk, Intake(log, Limits(request_bytes=REQUEST_BYTES)))
    with made.stopping:
        yield made
    log.close()


@pytest.mark.long
@pytest.mark.parametrize("signal", ["traces", "logs"])
@pytest.mark.parametrize(
    ("rule", "way"),
    [(rule, way) for rule in RULES for way in rule.ways],
    ids=[f"{rule.sent}-{way}" for rule in RULES for way in rule.ways],
)
@pytest.mark.requirement("R17")
def test_each_rule_is_answered_to_the_letter(station: Station, rule: Rule, way: Way, signal: Signal) -> None:
    answer = rule.run(station, way, signal)
    assert answer.code == (rule.grpc if way == "gRPC" else rule.http)
    if way != "gRPC" and rule.sent not in UNTYPED:
        assert answer.content_type == CONTENT_TYPES[way]
    if answer.code in ("OK", "200"):
        assert answer.empty == (rule.body == EMPTY)
        assert (answer.rejected > 0) == (rule.body == PARTIAL) == bool(answer.message)
    else:
        assert answer.message
        own = way != "gRPC" or rule.sent not in BY_LIBRARY
        if own:
            assert answer.status == (CODES[rule.grpc] if way == "gRPC" else STATUS_OF_HTTP[rule.http])
            assert answer.details == {RETRY: ("RetryInfo",), BAD: ("BadRequest",)}.get(rule.body, ())
    assert answer.retry_seconds == (1 if rule.retry else None)
    if way == "gRPC":
        assert answer.retry_trailer == answer.retry_seconds
    else:
        assert answer.headers.get("retry-after") == ("1" if rule.retry else None)
    assert answer.headers.get("allow") == ("POST" if answer.code == "405" else None)


def test_the_page_has_this_table() -> None:
    page = (Path(__file__).parents[2] / "docs/otlp.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    head = lines.index("| sent | gRPC | HTTP | body | retried by clients |")
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines[head + 1 : head + 1 + len(RULES)]
    ]
    assert rows == [rule.row for rule in RULES]


def test_codes_that_clients_repeat_are_exactly_those_marked() -> None:
    """HTTP 408 is repeated by some stock exporters and not by others."""
    repeated = {"UNAVAILABLE", "429", "502", "503", "504"}
    for rule in RULES:
        codes = {code for code in (rule.grpc, rule.http) if code}
        assert bool(codes & repeated) == (rule.retry and rule.http != "408")


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_stays_short_however_many_reasons_there_are(station: Station, way: Way) -> None:
    spans = [make.span(trace_id=bytes(length)) for length in range(17, 300)]
    answer = send(station, way, "traces", encoded(make.traces(*spans), way))
    assert answer.rejected == len(spans)
    assert answer.size < 8192


@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_json_and_protobuf_of_the_same_request_are_stored_alike(station: Station, signal: Signal) -> None:
    sent = request(signal, good=3)
    for way in WAYS:
        assert send(station, way, signal, encoded(sent, way)).empty
    stored = [record.traces or record.logs or b"" for record in station.records()]
    assert [type(sent).FromString(body) for body in stored] == [sent] * 3
