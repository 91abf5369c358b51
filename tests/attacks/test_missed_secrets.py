"""Finding 9: forms of secrets that passed the redaction, and their variants; and what must not be taken for one."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from fix_recordings import load_recording, manifest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from sampling import one_in

from retrospan.ingest.redact.redactor import Redactor
from retrospan.schemas.redaction.matching import Matcher, Taken, TooDeep
from retrospan.schemas.redaction.rules import Rules

MATCHER = Matcher(Rules.secrets())
WORD = "hunter2correct"
KEY = "q7Zk2mP9xV4tB8nL1wR6yH3cF5dJ0gS7aU2eK9oI4bT8vX1zN6"

FOUND = (
    f"tool --password {WORD} -v", f"tool --token={WORD}", f"tool --db-password '{WORD}'", f"x --api-key \"{WORD}\"",
    f"mysql -uroot -p{WORD} shop", f"mysqldump -h db -p'{WORD}' shop", f"sshpass -p {WORD} ssh host",
    f"redis-cli -h cache -a {WORD}", f"docker login -u me -p {WORD} registry", f"curl -u me:{WORD} https://x",
    f"curl -sS --user me:{WORD} https://x", f"curl -H 'Authorization: token {WORD}' https://x",
    f"curl -H \"X-Api-Key: {WORD}\" https://x", f"PGPASSWORD={WORD} psql -h db", f"openssl rsa -passin pass:{WORD}",
    f'["tool", "--password", "{WORD}"]', f"['mysql', '-uroot', '-p{WORD}']",
    f"https://x.example/a?token={WORD}", f"https://x.example/a?b=1&sig={WORD}&c=2", f"https://x.example/?Signature={WORD}",
    f"https://s3/?X-Amz-Signature={WORD}&x=1", f"https://gcs/?X-Goog-Signature={WORD}", f"https://x/?AWSAccessKeyId={WORD}",
    f"https://x/cb#access_token={WORD}&x=1", f"https://x/?a=1&amp;token={WORD}",
    f"https://x/?next=https%3A%2F%2Fy%2F%3Ftoken%3D{WORD}", f"/search?sig={WORD}%2Babc%3D",
    f'{{"name":"authorization","value":"{WORD}"}}', f'{{"value": "{WORD}", "name": "Authorization"}}',
    f'{{"key":"cookie","value":{{"stringValue":"{WORD}"}}}}', f'{{"name":"password","type":"text","value":["{WORD}"]}}',
    f'[["cookie","{WORD}"]]', f'{{"headers":[["x","y"],["Set-Cookie","sid={WORD}"]]}}',
    f"[('authorization', '{WORD}'), ('accept', '*/*')]", f"[(b'x-api-key', b'{WORD}')]",
    f"Cookie: sid={WORD}; theme=dark", f"set-cookie: sid={WORD}; Path=/", f"Proxy-Authorization: Digest {WORD}",
    f"x-auth-token: {WORD}", "Authorization: Basic bWU6aHVudGVyMmNvcnJlY3Q=", "Basic bWU6aHVudGVyMmNvcnJlY3Q=",
    f"sk%2Dproj%2D{KEY}", f"sk%252Dproj%252D{KEY}", f"sk\\x2dproj\\x2d{KEY}", f"sk\\u002dproj-{KEY}", f"sk&#45;proj-{KEY}",
    f"sk&#x2d;proj-{KEY}", f"Xsk-{KEY}", f"0sk-proj-{KEY}", f"keysk-proj-{KEY}", f"mysk-{KEY}", f"Bearer%20{KEY}",
    f"password: {WORD}\nuser: me", f"Server=db;User=me;Password={WORD};", f"AccountName=a;AccountKey={WORD}==;End=x",
    f"OPENAI_KEY={WORD}", f"DB_PASS={WORD}", f"api_key => '{WORD}'", f"secret := {WORD}", f'<add key="Password" value="{WORD}" />',
    f"postgres://me:{WORD}@db/x", f"jdbc:mysql://db/x?user=me&password={WORD}",
)  # fmt: skip

KEPT = (
    "Use the --password option to set it", "--token is required", "give it with --api-key API_KEY", "--password $PASSWORD",
    "the risk-management-plan-for-the-next-quarter", "desk-0123456789abcdef0123456789abcdef", "task-management-system-of-the-team",
    '{"required": ["authorization", "content-type"]}', '{"name": "password", "type": "string", "description": "the user\'s"}',
    '{"name": "city", "value": "Graz"}', "https://x.example/?page_token=2&sort=asc", "https://x.example/?q=100%25+sure",
    "basic arithmetic operations", "max_tokens: 4096", '{"token": " hello", "logprob": -0.1}', "a cookie: small and sweet",
    "docker run -u 1000:1000 image", "mysql is a database -- portable", "prompt_tokens=12, completion_tokens=34",
    "100%", "50% of 2023", "keyboard: qwerty", '[["name", "password"], ["age", "7"]]', "&#39;quoted&#39;",
)  # fmt: skip


def redact(text: str) -> tuple[str, Taken]:
    taken = Taken()
    return MATCHER.text(text, "x", taken), taken


@pytest.mark.parametrize("text", FOUND)
def test_a_secret_in_this_form_is_taken_out(text: str) -> None:
    for nested in (
        text,
        f"a line\n{text}\nanother",
        json.dumps({"said": text}),
        json.dumps({"a": json.dumps([text])}),
    ):
        assert MATCHER.may_hold(nested.encode())
        found, taken = redact(nested)
        assert taken
        for secret in (WORD, KEY, "bWU6aHVudGVyMmNvcnJlY3Q"):
            assert secret not in found and secret[len(secret) // 2 :] not in found, found
        # What was taken out is not found again, and the same text is left.
        assert redact(found)[0] == found


@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text)[0] is text
    wrapped = json.dumps({"said": text})
    assert redact(wrapped)[0] == wrapped


def value(of: Any) -> AnyValue:
    if isinstance(of, dict):
        return AnyValue(
            kvlist_value=KeyValueList(values=[KeyValue(key=k, value=value(v)) for k, v in of.items()])
        )
    if isinstance(of, list):
        return AnyValue(array_value=ArrayValue(values=[value(each) for each in of]))
    return AnyValue(string_value=of)


@pytest.mark.parametrize(
    ("key", "of"),
    [
        *((f"http.request.header.{name}", [WORD]) for name in ("authorization", "cookie", "proxy-authorization", "x-api-key")),
        ("http.response.header.set-cookie", [WORD, WORD]),
        ("url.full", f"https://x/?X-Goog-Signature={WORD}"),
        ("url.query", f"?sig={WORD}"),
        ("headers", {"Authorization": WORD}),
        ("headers", [{"name": "authorization", "value": WORD}]),
        ("headers", [{"value": [WORD], "name": "Cookie"}]),
        ("headers", [["accept", "x"], ["cookie", WORD]]),
        ("process.command_args", json.dumps(["x", "--password", WORD])),
        ("process.command_line", f"mysql -p{WORD}"),
    ],
)  # fmt: skip
def test_the_attributes_of_the_conventions_hold_no_secret(key: str, of: Any) -> None:
    request = ExportTraceServiceRequest()
    span = (
        request.resource_spans.add()
        .scope_spans.add()
        .spans.add(name="GET", trace_id=b"t" * 16, span_id=b"s" * 8)
    )
    span.attributes.add(key=key, value=value(of))
    redacted = Redactor(Rules.secrets()).traces(request.SerializeToString())
    assert WORD.encode() not in redacted.body and redacted.members == 1
    assert b"retrospan.redacted" in redacted.body


def test_of_recorded_traffic_nothing_is_taken_for_a_secret() -> None:
    """None of the recordings holds one."""
    redactor = Redactor(Rules.secrets())
    for name in manifest():
        recording = load_recording(name)
        for body in recording.traces:
            assert redactor.traces(body).body is body, name
        for body in recording.logs:
            assert redactor.logs(body).body is body, name


HOSTILE = (
    "%2", "%25", "%2525", "\\x2", "\\x2d", "\\\\", "&#", "&#45;", "--a-", "--password", "--password '", "mysql -", "curl -u ", "curl",
    "?token=", "&sig=", "authorization: ", "authorization: basic ", "'cookie', '", '"cookie","\\\\', 'cookie: a', "basic ", "Ask-", "sk-a",
    '{"name":"cookie","value":', '{"value":"x",', '{"name":"cookie",', '[["cookie",', "token = ", "pat", "0123456789012345|", "redis-cli ",
    "-H 'a", "password\"   ", "A_KEY=", "wget ", "ext_aaaaa.aaaa.acc_", "-----BEGIN ", "Q~", "a.atlasv1.",
)  # fmt: skip


@pytest.mark.parametrize("piece", one_in(4, HOSTILE))
def test_hostile_text_of_these_forms_costs_no_more_than_its_length(piece: str) -> None:
    for text in (piece * (1_000_000 // len(piece)), '["\\' + piece * (500_000 // len(piece))):
        began = time.process_time()
        try:
            MATCHER.text(text, "x", Taken())
        except TooDeep:
            pass
        MATCHER.may_hold(text.encode())
        assert time.process_time() - began < 60
