"""Each client of HTTP is answered at its own boundary, and refused what is not recorded."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import httpx
import openai
import pytest
import requests
import urllib3
from replay.conftest import Provider
from replay.recorded import QUESTION, REFUSED, SYSTEM, bundle, model_call, text

from retrospan.exporter.replay import replay
from retrospan.exporter.replay.answers import answer_of_text
from retrospan.exporter.replay.wire.form import Asked, Cut, Form
from retrospan.exporter.replay.wire.forms import FORMS, reply_of
from retrospan.schemas.bundle.form import Bundle, CallError
from retrospan.schemas.errors import ReplayRefused

URL = "https://model.invalid/v1/chat/completions"
BODY = {
    "model": "gpt-4o-mini",
    "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
}
SAID = "Snow."
RECORD = bundle(model_call(1, [text("user", QUESTION)], text("assistant", SAID)))


def by_httpx(url: str) -> tuple[int, Any]:
    found = httpx.post(url, json=BODY)
    return found.status_code, found.json()


def by_httpx_async(url: str) -> tuple[int, Any]:
    async def ask() -> tuple[int, Any]:
        async with httpx.AsyncClient() as client:
            found = await client.post(url, json=BODY)
            return found.status_code, found.json()

    return asyncio.run(ask())


def by_requests(url: str) -> tuple[int, Any]:
    with requests.Session() as session:
        found = session.post(url, json=BODY)
        return found.status_code, found.json()


def by_urllib3(url: str) -> tuple[int, Any]:
    with urllib3.PoolManager() as pool:
        found = pool.request("POST", url, body=json.dumps(BODY).encode())
        return found.status, found.json()


def by_urllib(url: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, json.dumps(BODY).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as found:
            return found.status, json.load(found)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


CLIENTS: list[Callable[[str], tuple[int, Any]]] = [
    by_httpx,
    by_httpx_async,
    by_requests,
    by_urllib3,
    by_urllib,
]


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_client_is_answered(ask: Callable[[str], tuple[int, Any]]) -> None:
    with replay(RECORD) as r:
        status, body = ask(URL)
    assert (status, body["choices"][0]["message"]["content"]) == (200, SAID)
    assert r.report.verdict == "identical"


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_client_gets_a_recorded_error(ask: Callable[[str], tuple[int, Any]]) -> None:
    with replay(bundle(model_call(1, [text("user", QUESTION)], None, error=REFUSED))):
        status, body = ask(URL)
    assert (status, body["error"]["code"]) == (400, "context_length_exceeded")


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_client_reaches_nobody_else(ask: Callable[[str], tuple[int, Any]]) -> None:
    with replay(RECORD) as r, pytest.raises(Exception, match=r"example\.com"):
        ask("https://example.com/track")
    assert r.report.refused[0].what == "POST https://example.com/track"
    assert "test_clients.by_" in r.report.refused[0].caller


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_client_reaches_a_host_that_is_named(
    ask: Callable[[str], tuple[int, Any]], provider: Provider
) -> None:
    with replay(RECORD, hosts=[provider.host]):
        _, body = ask(f"{provider.url}/chat/completions")
    assert body["choices"][0]["message"]["content"] == "said live"


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_client_goes_out_after_the_recorded_steps(
    ask: Callable[[str], tuple[int, Any]], provider: Provider
) -> None:
    from retrospan.exporter.replay import Edits

    with replay(RECORD, mode="edit", until=1, edits=Edits(request={"model": "another"})):
        _, body = ask(f"{provider.url}/chat/completions")
    assert body["choices"][0]["message"]["content"] == "said live"
    assert provider.asked[0]["model"] == "another"


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_broken_connection_is_one_again(ask: Callable[[str], tuple[int, Any]]) -> None:
    error = CallError(type="APIConnectionError", message="Connection error.")
    with (
        replay(bundle(model_call(1, [text("user", QUESTION)], None, error=error))),
        pytest.raises(Exception, match="Connection error"),
    ):
        ask(URL)


def test_a_timeout_is_the_clients_own() -> None:
    error = CallError(type="APITimeoutError", message="Request timed out.")
    client = openai.OpenAI(api_key="none", base_url="https://model.invalid/v1", max_retries=1)
    messages: Any = BODY["messages"]
    with (
        replay(bundle(model_call(1, [text("user", QUESTION)], None, error=error))),
        pytest.raises(openai.APITimeoutError),
    ):
        client.chat.completions.create(model="gpt-4o-mini", messages=messages)


def test_streams_are_read_by_the_clients_of_openai() -> None:
    long = "Snow on the fells, rain on the coast. " * 20
    messages: Any = BODY["messages"]
    record = bundle(
        model_call(
            1,
            [text("user", QUESTION)],
            text("assistant", long),
            usage={"input_tokens": 3, "output_tokens": 4},
        ),
        model_call(
            2,
            [text("user", QUESTION)],
            text("assistant", long),
            usage={"input_tokens": 3, "output_tokens": 4},
        ),
    )

    async def streamed() -> str:
        async with openai.AsyncOpenAI(api_key="none", base_url="https://model.invalid/v1") as client:
            stream = await client.chat.completions.create(
                model="gpt-4o-mini", messages=messages, stream=True, stream_options={"include_usage": True}
            )
            chunks = [chunk async for chunk in stream]
            assert chunks[-1].usage is not None
            assert chunks[-1].usage.total_tokens == 7
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    with replay(record) as r:
        assert asyncio.run(streamed()) == long
        client = openai.OpenAI(api_key="none", base_url="https://model.invalid/v1")
        with client.responses.stream(model="gpt-4o-mini", instructions=SYSTEM, input=QUESTION) as stream:
            for _ in stream:
                pass
            assert stream.get_final_response().output_text == long
    assert r.report.verdict == "identical"


def test_telemetry_is_kept_back() -> None:
    with replay(RECORD) as r:
        assert requests.post("http://collector.invalid:4318/v1/traces", data=b"\n").status_code == 200
    assert (r.report.kept_back, r.report.refused) == (1, [])


def test_pools_that_were_there_before_are_answered_too(provider: Provider) -> None:
    """A connection that is open already would need none of the sockets that are watched."""
    with httpx.Client() as client, requests.Session() as session:
        live = f"{provider.url}/chat/completions"
        assert (
            client.post(live, json=BODY).json()["id"] == session.post(live, json=BODY).json()["id"] == "live"
        )
        with replay(
            bundle(*(model_call(n, [text("user", QUESTION)], text("assistant", SAID)) for n in (1, 2)))
        ):
            for body in (client.post(live, json=BODY).json(), session.post(live, json=BODY).json()):
                assert body["choices"][0]["message"]["content"] == SAID
        assert client.post(live, json=BODY).json()["id"] == "live"
    assert len(provider.asked) == 3


def test_sockets_of_every_kind_are_refused() -> None:
    with replay(RECORD) as r:
        with pytest.raises(ReplayRefused), socket.socket() as sock:
            sock.connect(("127.0.0.1", 9))
        with pytest.raises(ReplayRefused), socket.socket() as sock:
            sock.connect_ex(("127.0.0.1", 9))
        with pytest.raises(ReplayRefused), socket.socket(type=socket.SOCK_DGRAM) as sock:
            sock.sendto(b"x", ("127.0.0.1", 9))
        with pytest.raises(ReplayRefused), socket.socket(socket.AF_UNIX) as sock:
            sock.connect("/run/docker.sock")
        with pytest.raises(ReplayRefused):
            socket.gethostbyname("example.com")
        with pytest.raises(ReplayRefused):
            socket.gethostbyaddr("192.0.2.1")
        with pytest.raises(ReplayRefused):
            socket.getnameinfo(("192.0.2.1", 80), 0)
        assert socket.getfqdn("127.0.0.1"), "a server of this machine asks for its own name"
        with ThreadPoolExecutor(1) as threads, pytest.raises(ReplayRefused):
            threads.submit(socket.create_connection, ("127.0.0.1", 9)).result()
    assert len(r.report.refused) == 8


def test_asyncio_opens_its_own_pipe_and_nothing_else() -> None:
    async def dial() -> None:
        await asyncio.sleep(0)
        await asyncio.open_connection("127.0.0.1", 9)

    with replay(RECORD), pytest.raises(ReplayRefused):
        asyncio.run(dial())


@pytest.mark.parametrize(
    "start",
    [
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        lambda: os.system("true"),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        os.fork,
        lambda: asyncio.run(asyncio.create_subprocess_exec("true")),
        lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
        lambda: multiprocessing.get_context("fork").Process(target=print).start(),
    ],
)
def test_no_process_is_started(start: Callable[[], object]) -> None:
    with replay(RECORD) as r, pytest.raises(ReplayRefused):
        start()
    assert r.report.refused


def test_a_process_that_is_named_is_started() -> None:
    with replay(RECORD, processes=["true"]):
        assert subprocess.run(["true"], check=False).returncode == 0
        with pytest.raises(ReplayRefused):
            subprocess.run(["false"], check=False)


def test_nothing_is_refused_after_a_replay(provider: Provider) -> None:
    with replay(RECORD):
        pass
    assert httpx.post(f"{provider.url}/chat/completions", json=BODY).json()["id"] == "live"
    assert subprocess.run(["true"], check=False).returncode == 0


def test_grpc_is_refused_but_for_telemetry_which_is_kept_back() -> None:
    with replay(RECORD) as r, grpc.insecure_channel("127.0.0.1:9") as channel:
        with pytest.raises(ReplayRefused, match=r"/some\.Service/Do"):
            channel.unary_unary("/some.Service/Do")(b"")
        with pytest.raises(ReplayRefused, match=r"/some\.Service/Watch"):
            channel.unary_stream("/some.Service/Watch")(b"")
        export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        assert export(b"x") == b""
    assert (r.report.kept_back, len(r.report.refused)) == (1, 2)


def cut(kind: str) -> Bundle:
    """A stream that broke off: what had come of the answer is on record, and no reason why it ended."""
    said = text("assistant", "Snow on the fells, rain on the coast. " * 5)
    error = CallError(type=kind, message="the stream broke off")
    return bundle(model_call(1, [text("user", QUESTION)], said, error=error))


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("httpx.RemoteProtocolError", (openai.APIConnectionError, httpx.RemoteProtocolError)),
        ("ReadTimeout", openai.APITimeoutError),
    ],
)
def test_a_stream_that_broke_off_does_so_again(kind: str, raised: Any) -> None:
    client = openai.OpenAI(api_key="none", base_url="https://model.invalid/v1")
    messages: Any = BODY["messages"]
    with replay(cut(kind)) as r:
        stream = client.chat.completions.create(model="gpt-4o-mini", messages=messages, stream=True)
        said = list[str]()
        with pytest.raises(raised):
            for chunk in stream:
                said.append(chunk.choices[0].delta.content or "")
                assert chunk.choices[0].finish_reason is None
    assert "".join(said).startswith("Snow on the fells")
    assert r.report.verdict == "identical"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_what_broke_off_has_no_end_in_any_form(form: Form) -> None:
    asked = Asked(form.name, "m", True, [], [], None, {})
    answer = answer_of_text("Snow on the fells, rain on the coast.", asked, "x")
    whole, broken = reply_of(form, answer, asked), reply_of(form, answer, asked, Cut("connection", "lost"))
    assert whole.body.startswith(broken.body) and len(broken.body) < len(whole.body)
    for end in (b'finish_reason": "stop', b"response.completed", b"message_stop", b"STOP", b"messageStop"):
        assert end not in broken.body
    # Gemini says all of a part at once, with the end.
    assert (b"rain" in broken.body) == (form.name != "gemini")


@pytest.mark.parametrize("ask", [by_requests, by_urllib3, by_urllib])
def test_other_clients_lose_the_connection_in_the_middle(
    ask: Callable[[str], tuple[int, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BODY, "stream", True)
    with replay(cut("APIConnectionError")), pytest.raises(Exception, match=r"IncompleteRead|ncomplete"):
        ask(URL)


@pytest.mark.parametrize(
    ("ask", "raised"),
    [
        (by_requests, requests.exceptions.ConnectionError),
        (by_urllib3, urllib3.exceptions.ReadTimeoutError),
        (by_urllib, TimeoutError),
    ],
)
def test_other_clients_wait_in_vain_in_the_middle(
    ask: Callable[[str], tuple[int, Any]], raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BODY, "stream", True)
    with replay(cut("ReadTimeout")), pytest.raises(raised, match=r"timed out|broke off"):
        ask(URL)


def test_what_came_before_the_silence_can_be_read_line_by_line() -> None:
    body = json.dumps({**BODY, "stream": True}).encode()
    lines = list[bytes]()
    request = urllib.request.Request(URL, body)
    with (
        replay(cut("ReadTimeout")),
        pytest.raises(TimeoutError, match="broke off"),
        urllib.request.urlopen(request) as found,
    ):
        lines.extend(iter(found.readline, b""))
    assert b"Snow on the fells" in b"".join(lines)
