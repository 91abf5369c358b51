"""A real collector at the other end: away and back again, with tokens, with a limit of its own, over HTTP and gRPC."""

from __future__ import annotations

import hashlib
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from exporter.conftest import MakePipeline
from exporter.programs import SPAN, agent
from exporter.test_delivery import lines, numbered, record
from fix_collector import Served
from ports import unused_port

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.delivery.spool import Spool, Spooled

WRITER, READER = "Writer-1", "Reader-1"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A collector that asks for tokens to write, and takes requests of 2 MiB."""
    directory = tmp_path_factory.mktemp("strict")
    tokens, config = directory / "tokens.toml", directory / "retrospan.toml"
    tokens.write_text(
        "".join(
            f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n'
            f'rights = ["{right}"]\ntenant = "default"\n'
            for name, token, right in (("writer", WRITER, "write"), ("reader", READER, "read"))
        )
    )
    config.write_text('[limits]\nrequest_bytes = "2 MiB"\n')
    collector = Served(
        directory / "data",
        directory / "stderr.txt",
        *("--tokens", str(tokens), "--config", str(config)),
        # The same after a restart.
        *("--http", f"127.0.0.1:{unused_port()}"),
    )
    yield collector
    collector.kill()


def settings_for(collector: Served, protocol: str, token: str) -> dict[str, object]:
    place = f"http://{collector.grpc}" if protocol == "grpc" else f"http://{collector.http}/v1/traces"
    return {
        "endpoint": place,
        "protocol": protocol,
        "insecure": True,
        "headers": {"authorization": f"Bearer {token}"},
    }


def asked(collector: Served, sql: str) -> list[dict[str, object]]:
    """Ask with the token that may read."""
    request = urllib.request.Request(
        f"http://{collector.sql}/?default_format=JSONEachRow",
        sql.encode(),
        {"Authorization": f"Bearer {READER}"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return [json.loads(line) for line in reply.read().decode().splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_the_collector_takes_everything_whatever_its_limit(
    pipeline: MakePipeline, strict: Served, protocol: str
) -> None:
    built, provider = pipeline(**settings_for(strict, protocol, WRITER), delay_seconds=0.3)
    record(provider, *(f"{protocol} {number}" for number in range(60)), payload="x" * 60_000)
    record(provider, f"{protocol} huge", payload="y" * 3_000_000, small="kept")
    assert built.flush(30)
    counts = built.counts()
    assert (counts.delivered, counts.lost, counts.reduced > 0) == (61, {}, True)
    assert counts.records.lost == {} and counts.records.delivered == counts.records.accepted >= 61
    query = f"SELECT name, attributes['payload'] AS payload, attributes['small'] AS small FROM spans WHERE startsWith(name, '{protocol} ')"
    strict.until(lambda: len(asked(strict, query)) == 61)
    rows = {row["name"]: row for row in asked(strict, query)}
    assert rows[f"{protocol} 7"]["payload"] == "x" * 60_000
    huge = rows[f"{protocol} huge"]
    assert huge["small"] == "kept" and json.loads(str(huge["payload"]))["omitted_bytes"] == 3_000_000


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_wrong_token_is_one_line_that_says_what_to_do(
    pipeline: MakePipeline, strict: Served, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    built, provider = pipeline(**settings_for(strict, protocol, "Wrong-1"))
    built.start()
    record(provider, *numbered(20))
    strict.until(lambda: bool(lines(caplog)))
    assert not built.flush(0.5)
    (line,) = lines(caplog)
    assert "RETROSPAN_TOKEN" in line and "Wrong-1" not in line
    assert ("UNAUTHENTICATED" if protocol == "grpc" else "401") in line


def test_the_wrong_port_is_named(
    pipeline: MakePipeline, strict: Served, caplog: pytest.LogCaptureFixture
) -> None:
    swapped = {**settings_for(strict, "grpc", WRITER), "endpoint": f"http://{strict.http}"}
    built, _ = pipeline(**swapped)
    built.start()
    strict.until(lambda: bool(lines(caplog)))
    assert "4317" in lines(caplog)[0]
    swapped = {**settings_for(strict, "http/protobuf", WRITER), "endpoint": f"http://{strict.grpc}/v1/traces"}
    other, _ = pipeline(**swapped)
    other.start()
    strict.until(lambda: len(lines(caplog)) == 2)
    assert "4318" in lines(caplog)[1]


def test_what_was_lost_can_be_asked_of_the_collector(pipeline: MakePipeline, strict: Served) -> None:
    built, provider = pipeline(**settings_for(strict, "http/protobuf", WRITER))
    built._losses[Signal.TRACES].add(notices.MEMORY_FULL, 7)
    record(provider, "after a loss")
    assert built.flush(30)
    query = "SELECT resource['retrospan.exporter.lost'] AS lost FROM spans WHERE name = 'after a loss'"
    strict.until(lambda: asked(strict, query) == [{"lost": "7"}])


AGENT = (
    SPAN
    + """
import sys, time
from retrospan.exporter import instrument
made = instrument()
number = 0
while not select.select([sys.stdin], [], [], 0.02)[0]:
    span(f"span {number}", state="s" * 2000)
    number += 1
assert made.flush(60), made.counts()
print(number, made.counts().lost_spans)
"""
).replace("import sys, time", "import select, sys, time")


@pytest.mark.parametrize(
    "away_seconds",
    [
        pytest.param(2.0, id="short", marks=pytest.mark.long),
        pytest.param(60.0, id="minute", marks=pytest.mark.soak),
    ],
)
def test_collector_killed_and_restarted_under_a_recording_agent(
    strict: Served, tmp_path: Path, away_seconds: float
) -> None:
    """Nothing lost, nothing doubled: with a spool, `kill -9` in the middle of deliveries, away for a while."""
    name = f"recording {away_seconds}"
    process = agent(
        AGENT,
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{strict.http}",
        OTEL_SERVICE_NAME=name,
        RETROSPAN_TOKEN=WRITER,
        RETROSPAN_EXPORTER_SPOOL=str(tmp_path),
    )

    def stored() -> int:
        return int(
            str(asked(strict, f"SELECT count() AS n FROM spans WHERE service_name = '{name}'")[0]["n"])
        )

    try:
        strict.until(lambda: stored() > 5)
        strict.kill()
        strict.until(lambda: _spans_in(tmp_path) > 20 * away_seconds, 60 + 3 * away_seconds)
        strict.start()
        before = stored()
        strict.until(lambda: stored() > before + 20 * away_seconds)
        out, err = process.communicate("stop\n", timeout=90)
        assert process.returncode == 0, err
        number, lost = map(int, out.split())
        assert lost == 0 and number > 40
        strict.until(lambda: stored() == number)
        rows = asked(strict, f"SELECT name, variants FROM spans WHERE service_name = '{name}'")
        assert sorted(str(row["name"]) for row in rows) == sorted(numbered(number))
        assert {row["variants"] for row in rows} == {1}
        assert [path.name for path in tmp_path.iterdir()] == []
        assert "do not reach" in err and len(err.splitlines()) == 1
    finally:
        process.kill()
        process.communicate()
        if strict.process.poll() is not None:
            strict.start()


def _spans_in(directory: Path) -> int:
    """How many spans wait in a spool."""
    count = 0
    for path in directory.glob("*.otlp"):
        try:
            count += Spool.read(Spooled(path, ""))[1]
        except OSError:
            pass
    return count
