"""Configuration: where a value comes from, and what is said when it cannot be used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_sources import variable
from retrospan.ingest.settings.setting_values import MIB, Address, parse_address, parse_bytes
from retrospan.schemas.errors import ConfigError


def written(directory: Path, text: str) -> Path:
    file = directory / "retrospan.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_defaults_are_the_contract() -> None:
    config = Config.read()
    assert str(config.data) == "retrospan-data"
    assert [str(a) for a in (config.grpc, config.http, config.sql)] == [
        "127.0.0.1:4317",
        "127.0.0.1:4318",
        "127.0.0.1:8123",
    ]
    assert (config.warehouse, config.role, config.limits.request_bytes) == (None, "all", 64 * MIB)
    assert config.interpreter.quiet_seconds == 1.0


def test_flag_beats_variable_beats_file_beats_default(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        'grpc = "127.0.0.1:1"\nhttp = "127.0.0.1:1"\nsql = "127.0.0.1:1"\n[limits]\nrequest_bytes = "1 MiB"\n',
    )
    environ = {
        "RETROSPAN_HTTP": "127.0.0.1:2",
        "RETROSPAN_SQL": "127.0.0.1:2",
        "RETROSPAN_LIMITS_QUERIES": "3",
    }
    config = Config.read({"sql": "127.0.0.1:3", "data": None}, environ, file)
    assert (config.grpc.port, config.http.port, config.sql.port) == (1, 2, 3)
    assert (config.limits.request_bytes, config.limits.queries) == (MIB, 3)


def test_the_file_can_be_named_by_a_variable(tmp_path: Path) -> None:
    file = written(tmp_path, "[interpreter]\nquiet_seconds = 0.25\n")
    assert Config.read({}, {"RETROSPAN_CONFIG": str(file)}).interpreter.quiet_seconds == 0.25


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('data = "x"\ngrcp = "127.0.0.1:1"\n', "unknown key 'grcp' in {file} line 2. Did you mean 'grpc'?"),
        (
            "[limits]\nqueries = 1\nrequest_byte = 5\n",
            "unknown key 'limits.request_byte' in {file} line 3. Did you mean 'limits.request_bytes'?",
        ),
        ("\n[limit]\nqueries = 1\n", "unknown key 'limit' in {file} line 2. Did you mean"),
        ('\nsql = "8123"\n', "sql = '8123' (from {file} line 2): not of the form HOST:PORT"),
        (
            '[limits]\nlog_bytes = "many"\n',
            "limits.log_bytes = 'many' (from {file} line 2): not a size such as 64 MiB",
        ),
        ("[interpreter]\nquiet_seconds = -1\n", "not a number of seconds"),
        ("[limits]\nqueries = 0\n", "not a whole number of at least 1"),
        ("data = \n", "{file} is not TOML"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        Config.read({}, {}, file)
    assert said.format(file=file) in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        Config.read({}, {}, tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("arguments", "environ", "said"),
    [
        ({"grpc": "here"}, {}, "grpc = 'here' (from --grpc)"),
        ({}, {"RETROSPAN_HTTP": "::"}, "http = '::' (from RETROSPAN_HTTP)"),
        ({"role": "boss"}, {}, "not one of all, receive, interpret"),
        ({"gprc": "127.0.0.1:1"}, {}, "Did you mean 'grpc'?"),
        ({"role": "receive"}, {}, "needs a ClickHouse server"),
        ({"warehouse": "http://db"}, {}, "does not begin with clickhouse://"),
        ({"warehouse": "clickhouse://"}, {}, "it has no host"),
        ({"warehouse": "clickhouse://db/other"}, {}, "the database is always called retrospan"),
        ({"server.user": "me"}, {}, "does not name one"),
        ({"warehouse": "clickhouse://db", "server.cluster": "a'b"}, {}, "not a cluster name"),
        ({"open": "maybe"}, {}, "not true or false"),
        ({"tls.certificate": "a.pem"}, {}, "tls.certificate and tls.key belong together"),
        ({"tls.client_ca": "a.pem"}, {}, "tls.client_ca needs"),
    ],
)
def test_what_cannot_be_used_says_where_it_came_from(
    arguments: dict[str, object], environ: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        Config.read(arguments, environ)
    assert said in str(refused.value)


@pytest.mark.parametrize("port", ["grpc", "http", "sql"])
@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.7", "collector.example"])
@pytest.mark.requirement("R36")
def test_an_address_that_others_reach_needs_tokens_or_the_word_open(port: str, host: str) -> None:
    address = f"{host}:4317"
    with pytest.raises(ConfigError) as refused:
        Config.read({port: address})
    said = str(refused.value)
    assert said.startswith(f"{port} {address}: reachable from other machines")
    assert all(way in said for way in ("--tokens FILE", "127.0.0.1", "--open", "open = true"))
    assert str(getattr(Config.read({port: address, "open": True}), port)) == address
    assert str(getattr(Config.read({port: address}, {"RETROSPAN_OPEN": "true"}), port)) == address
    assert Config.read({port: address, "tokens": "tokens.toml"}).tokens == Path("tokens.toml")


def test_addresses_and_sizes_are_read_as_people_write_them() -> None:
    assert parse_address("[::1]:4317") == Address("::1", 4317)
    assert str(Address("::1", 4317)) == "[::1]:4317"
    assert parse_address(":0") == Address("127.0.0.1", 0)
    assert [parse_bytes(v) for v in (5, "5", "1.5 KiB", "2g", "3 MB")] == [5, 5, 1536, 2 * 1024**3, 3 * MIB]
    assert variable("limits.request_bytes") == "RETROSPAN_LIMITS_REQUEST_BYTES"


def test_reading_configuration_loads_nothing_heavy() -> None:
    code = (
        "import sys, retrospan.ingest.settings.config; "
        "print(*sorted({m.partition('.')[0] for m in sys.modules} & "
        "{'grpc', 'chdb', 'polars', 'pandas', 'numpy', 'uvicorn', 'google', 'opentelemetry', 'pyarrow'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@settings(max_examples=100, deadline=None)
@given(
    data=st.text(st.characters(exclude_characters="\0~", exclude_categories=["Cs"]), min_size=1, max_size=20),
    port=st.integers(0, 65535),
    seconds=st.floats(0, 1e6),
    size=st.integers(1, 2**50),
    password=st.text(max_size=20),
    is_open=st.booleans(),
)
def test_another_process_reads_the_same_settings_from_what_it_is_told(
    data: str, port: int, seconds: float, size: int, password: str, is_open: bool
) -> None:
    config = Config.read(
        {
            "data": Path(data),
            "grpc": Address("::1", port),
            "open": is_open,
            "warehouse": "clickhouse://host:8123/retrospan",
            "server.password": password,
            "drain_seconds": seconds,
            "limits.log_bytes": size,
        }
    )
    assert Config.read(json.loads(json.dumps(config.told()))) == config
