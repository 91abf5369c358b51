"""Argument before variable before default; who may break the start, and who may not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from retrospan.exporter.endpoints import shown
from retrospan.exporter.settings import Settings
from retrospan.schemas.errors import ConfigError


def read(arguments: Mapping[str, object] | None = None, **environ: str) -> tuple[Settings, list[str]]:
    said: list[str] = []
    return Settings.read(arguments or {}, environ, said.append), said


@pytest.mark.parametrize(
    ("arguments", "environ", "endpoint"),
    [
        ({}, {}, "http://localhost:4318/v1/traces"),
        ({}, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http://localhost:4317"),
        ({}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1/"}, "http://c:1/v1/traces"),
        ({}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:1/x"}, "http://c:1/x"),
        ({"endpoint": "https://a"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b"}, "https://a/v1/traces"),
        ({"endpoint": "https://a/v1/traces"}, {}, "https://a/v1/traces"),
        ({"endpoint": "http://a:1", "protocol": "grpc"}, {}, "http://a:1"),
        ({"endpoint": "a:1", "protocol": "grpc"}, {}, "a:1"),
        ({"protocol": "grpc"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:1"}, "localhost:1"),
        ({"protocol": "grpc"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "unix:/run/c"}, "unix:/run/c"),
        ({}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1]:1"}, "http://[::1]:1/v1/traces"),
    ],
)
def test_endpoint(arguments: dict[str, object], environ: dict[str, str], endpoint: str) -> None:
    assert read(arguments, **environ)[0].endpoint == endpoint


def test_a_token_is_a_header_unless_the_headers_have_one() -> None:
    assert read(RETROSPAN_TOKEN="a")[0].headers == {"authorization": "Bearer a"}
    headers = "authorization=Bearer%20b,x=1"
    given = read(RETROSPAN_TOKEN="a", OTEL_EXPORTER_OTLP_HEADERS=headers)[0].headers
    assert given == {"authorization": "Bearer b", "x": "1"}
    given = read({"token": "c"}, OTEL_EXPORTER_OTLP_HEADERS=headers)[0].headers
    assert given["authorization"] == "Bearer c"


def test_tls_is_never_switched_off_by_a_variable_for_https() -> None:
    assert not read(OTEL_EXPORTER_OTLP_ENDPOINT="https://c", OTEL_EXPORTER_OTLP_INSECURE="true")[0].insecure
    assert read(OTEL_EXPORTER_OTLP_ENDPOINT="http://c")[0].insecure


def test_sizes_and_times() -> None:
    settings, said = read(
        {"spool": Path("/s"), "memory_bytes": "2 MiB"}, RETROSPAN_EXPORTER_SPOOL_BYTES="1.5k"
    )
    assert (settings.spool, settings.memory_bytes, settings.spool_bytes) == (Path("/s"), 2 << 20, 1536)
    assert settings.delay_seconds == read()[0].delay_seconds == 0.03
    assert said == []


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("RETROSPAN_EXPORTER_MEMORY_BYTES", "lots"),
        ("RETROSPAN_EXPORTER_SPOOL_BYTES", "0"),
        ("RETROSPAN_EXPORTER_DELAY_SECONDS", "-1"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "nan"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:99999"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"),
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "c:1"),
    ],
)
def test_a_variable_that_cannot_be_used_is_reported_and_the_default_taken(variable: str, text: str) -> None:
    settings, said = read(None, **{variable: text})
    assert settings == read()[0]
    (line,) = said
    assert variable in line and text in line


@pytest.mark.parametrize(
    "arguments",
    [
        {"endpoint": "localhost:4318"},
        {"endpoint": "http://127.0.0.1:99999"},
        {"endpoint": "http://127.0.0.1:port"},
        {"endpoint": "http://a b:1"},
        {"endpoint": "http://a:0", "protocol": "grpc"},
        {"spool": "a\0b"},
        {"spool": 5},
        {"headers": [("a", "b")]},
        {"headers": {"a b": "c"}},
        {"protocol": "http/json"},
        {"memory_bytes": "lots"},
        {"spool_bytes": -1},
    ],
)
def test_an_argument_that_cannot_be_used_is_an_error(arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        read(arguments)


SECRET = "s3cr3t"


@pytest.mark.parametrize("text", [f"{SECRET}\n", f"  {SECRET}\r\n", f"{SECRET} "])
def test_what_stands_around_a_token_in_a_file_is_not_part_of_it(text: str) -> None:
    wanted = {"authorization": f"Bearer {SECRET}"}
    assert read(RETROSPAN_TOKEN=text) == (read({"token": SECRET})[0], [])
    assert read({"token": text})[0].headers == wanted
    assert read({"headers": {"Authorization": f"Bearer {text.lstrip()}"}})[0].headers == wanted


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("unfit", ["\n", "\0", "€"])
def test_a_header_that_cannot_be_sent_is_named_without_its_value(protocol: str, unfit: str) -> None:
    text = f"{SECRET}{unfit}x"
    for arguments, name in (({"token": text}, "token"), ({"headers": {"x-key": text}}, "x-key")):
        with pytest.raises(ConfigError, match=name) as raised:
            read({**arguments, "protocol": protocol})
        assert SECRET not in f"{raised.value!r} {raised.value.__cause__!r}"
    for variable, value in (
        ("RETROSPAN_TOKEN", text),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"x=1,authorization={text}"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", f"authorization={quote(text)},x=1"),
    ):
        settings, said = read({"protocol": protocol}, **{variable: value})
        assert "authorization" not in settings.headers
        (line,) = said
        assert variable in line and SECRET not in line


def test_an_entry_that_is_not_a_header_is_left_out_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    settings, said = read(OTEL_EXPORTER_OTLP_HEADERS=f"x=1,Bearer {SECRET}, y = 2 3 ,z=%20a%2Cb,")
    assert settings.headers == {"x": "1", "y": "2 3", "z": "a,b"}
    (line,) = said
    assert "OTEL_EXPORTER_OTLP_HEADERS" in line and SECRET not in line + caplog.text


@pytest.mark.parametrize(
    ("endpoint", "line"),
    [
        ("http://u:s3cr3t@h:4318/v1/traces", "http://…@h:4318/v1/traces"),
        ("u:s3cr3t@h:4317", "…@h:4317"),
        ("http://h:4318/u@v", "http://h:4318/u@v"),
        ("http://u:s3cr3t@x@h", "http://…@h"),
    ],
)
def test_an_address_is_shown_without_the_user_and_the_password(endpoint: str, line: str) -> None:
    assert shown(endpoint) == line


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("place", ["h:99999", "h:port", "h h", "[h", ":"])
def test_an_address_that_cannot_be_used_is_named_without_its_password(protocol: str, place: str) -> None:
    endpoint = f"http://user:{SECRET}@{place}"
    with pytest.raises(ConfigError, match="endpoint") as raised:
        read({"endpoint": endpoint, "protocol": protocol})
    assert SECRET not in f"{raised.value!r} {raised.value.__cause__!r}"
    _, said = read({"protocol": protocol}, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert said and SECRET not in " ".join(said)


def test_grpc_takes_no_password_in_the_address() -> None:
    with pytest.raises(ConfigError, match="token"):
        read({"endpoint": f"http://user:{SECRET}@h:4317", "protocol": "grpc"})
