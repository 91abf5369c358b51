"""Posting an alert on real sockets: to targets that listen, and to those that do anything else."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from alerts.targets import answer, listening
from certificates import make_certificates

from retrospan.ingest.alerts.attempt import Attempt, Deadline, Message
from retrospan.ingest.alerts.deliverer import Deliverer
from retrospan.ingest.alerts.public_address import ForbiddenAddress, address_of, fault_of
from retrospan.ingest.alerts.rules import AlertRules, Target, Webhook

SECRET = b"a secret of thirty-two bytes ..."
MESSAGE = Message("a1", 3, json.dumps({"text": "\u001b[31m\n<script>"}).encode())
LIMIT_SECONDS = 1.0


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_bytes(SECRET + b"\n")
    file.chmod(0o600)
    return file


def told(target: Target, message: Message = MESSAGE, seconds: float = LIMIT_SECONDS) -> Attempt:
    return Deliverer(AlertRules((), {target.name: target}), seconds).deliver(target.name, message)


def hook(secret: Path, url: str, *, private: bool = True, ca: Path | None = None) -> Webhook:
    return Webhook(name="hook", url=url, url_file=None, secret_file=secret, allow_private=private, ca=ca)


def at(port: int, path: str = "/x?y=1") -> str:
    return f"http://127.0.0.1:{port}{path}"


def test_a_signed_request_arrives(secret: Path) -> None:
    with listening(answer("204 No Content")) as heard:
        assert told(hook(secret, at(heard.port))) == Attempt("sent")
    ((head, body),) = heard.requests
    assert head[""] == "POST /x?y=1 HTTP/1.1" and body == MESSAGE.body
    assert (head["retrospan-alert-id"], head["retrospan-attempt"]) == ("a1", "3")
    stamp = head["retrospan-timestamp"]
    assert abs(int(stamp) - time.time()) < 60
    signed = hmac.new(SECRET, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert head["retrospan-signature"] == f"v1={signed}"


def test_a_redirect_is_not_followed(secret: Path) -> None:
    with listening(answer("200 OK")) as other:
        moved = answer("307 Temporary Redirect", f"Location: {at(other.port)}")
        with listening(moved) as heard:
            attempt = told(hook(secret, at(heard.port)))
        assert attempt.outcome == "given_up" and "redirect" in attempt.reason
        assert len(heard.requests) == 1 and other.requests == []


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("400 Bad", "given_up"), ("404 No", "given_up"), ("408 Slow", "refused"), ("429 Many", "refused"),
     ("500 Oh", "refused"), ("503 Busy", "refused"), ("201 Made", "sent")],
)  # fmt: skip
def test_what_a_status_means(secret: Path, status: str, outcome: str) -> None:
    with listening(answer(status)) as heard:
        assert told(hook(secret, at(heard.port))).outcome == outcome


def never(connection: socket.socket) -> None:
    connection.recv(1)


def dripping(connection: socket.socket) -> None:
    for _ in range(1000):
        connection.sendall(b"H")
        time.sleep(0.05)


def dripping_hints(connection: socket.socket) -> None:
    for _ in range(1000):
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        time.sleep(0.05)


@pytest.mark.parametrize("behave", [never, dripping, dripping_hints])
def test_a_target_that_is_slow_or_silent_takes_no_longer_than_it_may(
    secret: Path, behave: Callable[[socket.socket], None]
) -> None:
    with listening(behave) as heard:
        began = time.monotonic()
        attempt = told(hook(secret, at(heard.port)))
        assert time.monotonic() - began < LIMIT_SECONDS + 30
    assert attempt.outcome == "refused"


def test_a_target_that_reads_nothing_takes_no_longer_than_it_may(secret: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        began = time.monotonic()
        attempt = told(hook(secret, at(deaf.getsockname()[1])), Message("a", 1, b"x" * 250_000))
        assert time.monotonic() - began < LIMIT_SECONDS + 30
    assert attempt.outcome == "refused"


def test_an_answer_of_a_gigabyte_is_not_read(secret: Path) -> None:
    sent: list[int] = []

    def flood(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        piece = b"x" * 65536
        for _ in range(16384):
            try:
                connection.sendall(piece)
            except OSError:
                return
            sent.append(len(piece))

    with listening(flood) as heard:
        assert told(hook(secret, at(heard.port))) == Attempt("sent")
    time.sleep(0.2)
    assert sum(sent) < 64 << 20


def test_an_answer_that_is_not_http_is_not_taken_for_one(secret: Path) -> None:
    def speak(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-OpenSSH\r\n" * 4000)

    with listening(speak) as heard:
        attempt = told(hook(secret, at(heard.port)))
    assert attempt.outcome == "refused" and "not HTTP" in attempt.reason


def test_the_answer_after_a_hint_counts(secret: Path) -> None:
    def hint(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Oh\r\n\r\n")

    with listening(hint) as heard:
        assert told(hook(secret, at(heard.port))).reason == "it answered 500"


def test_nothing_goes_to_a_private_address_unless_that_is_allowed(secret: Path) -> None:
    with listening(answer("200 OK")) as heard:
        url = f"https://localhost:{heard.port}/"
        attempt = told(hook(secret, url, private=False))
        assert attempt.outcome == "given_up" and "not a public address" in attempt.reason
        assert heard.requests == []


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.1.1", "100.64.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "::1",
     "::ffff:127.0.0.1", "fe80::1%eth0", "fd00::1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1",
     "2001:0:4136:e378:8000:63bf:80ff:fffe", "fec0::1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1", "4000::1"],
)  # fmt: skip
def test_what_is_not_public(address: str) -> None:
    assert fault_of(address, allow_private=False)


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "localhost.", "LOCALHOST", "::ffff:7f00:1"]
)  # fmt: skip
def test_no_way_to_write_this_machine_leads_to_it(host: str) -> None:
    try:
        address_of(host, 443, allow_private=False, deadline=Deadline(5.0))
    except (ForbiddenAddress, OSError):
        return
    raise AssertionError(host)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"]
)
def test_what_is_public(address: str) -> None:
    assert fault_of(address, allow_private=False) == ""


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254", "168.63.129.16"],
)
def test_where_a_cloud_tells_secrets_is_never_allowed(address: str) -> None:
    assert fault_of(address, allow_private=True)


def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def look_up(host: str, port: int, **more: object) -> list[object]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    real = socket.getaddrinfo

    def only_names(host: str, *place: object, **more: object) -> object:
        if host == "rebound.example":
            return look_up(host, *place)  # type: ignore[arg-type]
        return real(host, *place, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", only_names)
    with listening(answer("200 OK")) as heard:
        assert told(hook(secret, f"http://rebound.example:{heard.port}/")) == Attempt("sent")
    assert asked == ["rebound.example"]
    assert heard.requests[0][0]["host"] == f"rebound.example:{heard.port}"


def test_a_name_with_one_private_address_among_others_is_refused(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = ("93.184.216.34", "10.0.0.1")
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *a, **k: [(2, 1, 6, "", (address, 443)) for address in addresses]
    )
    attempt = told(hook(secret, "https://mixed.example/", private=False))
    assert attempt.outcome == "given_up" and "10.0.0.1" in attempt.reason


def test_a_name_server_that_never_answers_holds_up_nobody(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: ended.wait(30) and [])
    began = time.monotonic()
    attempt = told(hook(secret, "https://silent.example/"))
    ended.set()
    assert attempt.outcome == "refused" and "in time" in attempt.reason
    assert time.monotonic() - began < LIMIT_SECONDS + 30


def test_nothing_listens(secret: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    attempt = told(hook(secret, at(port)))
    assert attempt.outcome == "refused" and "refused" in attempt.reason.lower()


def test_over_tls_only_to_a_certificate_that_is_trusted(secret: Path, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server.certificate, certificates.server.key)
    with listening(answer("200 OK"), tls=context) as heard:
        url = f"https://localhost:{heard.port}/"
        attempt = told(hook(secret, url), seconds=10)
        assert attempt.outcome == "refused" and "certificate" in attempt.reason
        assert heard.requests == []
        assert told(hook(secret, url, ca=certificates.authority), seconds=10) == Attempt("sent")


@pytest.mark.parametrize(
    ("data", "mode", "said"),
    [(b"short", 0o600, "16 bytes at least"), (b"x" * 5000, 0o600, "more than"), (SECRET, 0o622, "by others")],
)
def test_a_secret_that_is_none(secret: Path, data: bytes, mode: int, said: str) -> None:
    secret.write_bytes(data)
    secret.chmod(mode)
    with listening(answer("200 OK")) as heard:
        attempt = told(hook(secret, at(heard.port)))
    assert attempt.outcome == "refused" and said in attempt.reason and heard.requests == []


def test_a_secret_is_read_anew_for_each_attempt(secret: Path) -> None:
    with listening(answer("200 OK")) as heard:
        target = hook(secret, at(heard.port))
        told(target)
        secret.write_bytes(b"another one of sixteen bytes")
        told(target)
    assert len({head["retrospan-signature"] for head, _ in heard.requests}) == 2


def test_an_address_in_a_file_is_told_to_nobody(secret: Path, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("http://127.0.0.1:1/T0KEN path")
    file.chmod(0o600)
    target = Webhook(name="hook", url="", url_file=file, secret_file=secret, allow_private=True, ca=None)
    attempt = told(target)
    assert attempt.outcome == "refused" and "spaces" in attempt.reason and "T0KEN" not in attempt.reason


def test_an_unknown_target_and_a_body_that_is_too_large(secret: Path) -> None:
    with listening(answer("200 OK")) as heard:
        target = hook(secret, at(heard.port))
        deliverer = Deliverer(AlertRules((), {"hook": target}))
        assert deliverer.deliver("other", MESSAGE).outcome == "given_up"
        assert deliverer.deliver("hook", Message("a", 1, b"x" * (300 << 10))).outcome == "given_up"
        assert heard.requests == []
