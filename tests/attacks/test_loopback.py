"""What counts as this machine: without tokens a collector listens nowhere else, whatever an address looks like."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retrospan.ingest.doctor.settings import is_here
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.metrics_target import require_foreign
from retrospan.ingest.settings.setting_values import Address, is_loopback, parse_address
from retrospan.schemas.errors import ConfigError

OURS = (
    *("127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1", "0000::0001"),
    *(
        "::ffff:127.0.0.1",
        "::FFFF:127.0.0.1",
        "::ffff:7f00:1",
        "::1%lo",
        "localhost",
        "LOCALHOST",
        "LocalHost",
    ),
)
NOT_OURS = (
    # Names of the net that look like an address of this machine.
    *("127.example.com", "127.0.0.1.example.com", "localhost.example.com", "example.localhost.com", "127."),
    *("localhost.localdomain.example.com", "my-localhost", "127-0-0-1.example.com", "127.0.0.1.nip.io"),
    # Names and forms that lead here or elsewhere, as whoever reads them likes.
    *("127.1", "127.0.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.01"),
    *("localhost.", "LOCALHOST.", "127.0.0.1.", "foo.localhost", "ip6-localhost", "runsc"),
    # Every address of this machine, and others.
    *(
        "0",
        "0.0.0.0",
        "::",
        "",
        "*",
        "::ffff:0.0.0.0",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
    ),
    *("128.0.0.1", "126.255.255.255", "10.0.0.1", "169.254.169.254", "fe80::1%eth0", "::2", "fc00::1"),
    # What is not a host at all.
    *(
        " 127.0.0.1",
        "127.0.0.1 ",
        "127.0.0.1\n",
        "[::1]",
        "127.0.0.1:80",
        "127.0.0.1/8",
        "١٢٧.0.0.1",
        "127。0。0。1",
    ),
    *("localhost\x00.example.com", "ｌｏｃａｌｈｏｓｔ", "localhoſt"),
)


@pytest.mark.parametrize("host", OURS)
def test_what_is_ours(host: str) -> None:
    assert is_loopback(host) and Address(host, 1).loopback


@pytest.mark.parametrize("host", NOT_OURS)
def test_what_is_not(host: str) -> None:
    assert not is_loopback(host) and not Address(host, 1).loopback


@pytest.mark.parametrize("found", [["127.0.0.1", "192.0.2.7"], ["192.0.2.7"], []])
def test_localhost_is_ours_only_where_it_leads_here(
    monkeypatch: pytest.MonkeyPatch, found: list[str]
) -> None:
    """A file of hosts may say anything."""

    def lookup(*_: object, **__: object) -> list[Any]:
        if not found:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    assert not is_loopback("localhost")


@pytest.mark.parametrize("port", ["grpc", "http", "sql"])
@pytest.mark.parametrize("host", ["127.example.com", "localhost.example.com", "127.1", "0x7f.1", "0", "[::]"])
def test_without_tokens_such_an_address_is_not_listened_on(host: str, port: str) -> None:
    with pytest.raises(ConfigError, match="reachable from other machines"):
        Config.read({port: f"{host}:0"})
    assert Config.read({port: f"{host}:0", "open": True}).open


@pytest.mark.parametrize(
    "text", ["[::1]:4317", "[::ffff:127.0.0.1]:4317", "LOCALHOST:4317", ":4317", "127.0.0.1:1"]
)
def test_ours_is_listened_at_without_tokens(text: str) -> None:
    assert Config.read({"grpc": text}).grpc == parse_address(text)


def test_a_collector_with_such_a_name_does_not_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "serve", "--data", str(tmp_path / "data"),
         "--grpc", "127.example.com:0", "--http", "127.0.0.1:0", "--sql", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "grpc 127.example.com:0: reachable from other machines" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8123", True),
        ("http://LOCALHOST:8123", True),
        ("https://[::1]:8123", True),
        ("http://127.example.com:8123", False),
        ("http://user@127.0.0.1.example.com:8123", False),
        ("http://", False),
    ],
)
def test_doctor_looks_at_the_disk_only_of_a_collector_that_is_here(url: str, here: bool) -> None:
    assert is_here(url) == here


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "0.0.0.0", "[::]", "127.9.9.9"]
)
def test_metrics_do_not_go_round_in_a_circle(host: str) -> None:
    with pytest.raises(ConfigError, match="own port"):
        require_foreign(Config.read({"metrics_to": f"http://{host}:4318"}))


def test_metrics_may_go_to_a_name_that_only_looks_like_this_machine() -> None:
    require_foreign(Config.read({"metrics_to": "http://127.example.com:4318"}))
