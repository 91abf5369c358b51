"""The file of tokens, read and read again; whose a directory is; what the gate says."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retrospan.ingest.access.gate import Gate, bearer, clickhouse_token
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tokens import Grant, Quota, Right, TokenFile, read_tokens
from retrospan.ingest.log.record import Note
from retrospan.ingest.log.sender import first_sender
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.schemas.errors import ConfigError, Forbidden, LogFull, Unauthenticated

from .conftest import NOW, STANDARD, Door, entry

SECRET = "Writer-1"


def test_the_file_says_whose_a_token_is_and_what_it_may_do(door: Door) -> None:
    door.write(STANDARD + '[quota.default]\nspans_per_second = 5.5\nbytes_per_second = "2 KiB"\n')
    tokens = read_tokens(door.file)
    assert tokens.find("Writer-1") == Grant("writer", "default", frozenset({"write"}), None)
    found = tokens.find("Other-1")
    assert found is not None and (found.tenant, set(found.rights)) == ("other", {"write", "read"})
    old = tokens.find("Old-1")
    assert old is not None and old.expires == datetime(2026, 11, 21, 11, 59, 59, tzinfo=UTC)
    assert tokens.quotas == {"default": Quota(5.5, 2048.0)}


@pytest.mark.parametrize(
    "token", ["writer-1", "WRITER-1", "Writer-1 ", "Writer-", "Writer-11", "", "é", "\udcff"]
)
@pytest.mark.requirement("R35")
def test_only_the_very_token_is_found(door: Door, token: str) -> None:
    assert read_tokens(door.file).find(token) is None


@pytest.mark.requirement("R35")
def test_every_entry_is_compared_whichever_matches(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = read_tokens(door.file)
    compared: list[tuple[int, int]] = []
    real = hmac.compare_digest

    def counting(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return real(a, b)

    monkeypatch.setattr(hmac, "compare_digest", counting)
    for token in ("Writer-1", "Other-1", "nobody's"):
        compared.clear()
        tokens.find(token)
        assert compared == [(32, 32)] * 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no [[token]]"),
        ("token = 3\n", "has no [[token]]"),
        (
            f'[[token]]\nname = "a"\nrights = ["write"]\ntoken = "{SECRET}"\n',
            "holds no tokens, only their SHA-256",
        ),
        (f'[[token]]\nname = "a"\nrights = ["write"]\nsha256 = "{SECRET}"\n', "not 64 hexadecimal digits"),
        (entry(SECRET, name="a", rights='"write", "delete"'), "not a list of write, read, admin"),
        (entry(SECRET, name="a", rights=""), "not a list of write, read, admin"),
        (entry(SECRET, name="a", expires="2027-01-01T00:00:00"), "not a time with its zone"),
        (entry(SECRET, name="a", expires='"soon"'), "not a time with its zone"),
        (entry(SECRET, name="a b"), "name is not 1 to 64"),
        (entry(SECRET, name="a", tenant="../up"), "tenant is not 1 to 64"),
        (entry(SECRET, name="a") + "right = 1\n", "unknown key 'right'"),
        (entry(SECRET, name="a") + entry("x", name="a"), "token 2 has the name of an earlier one"),
        (entry(SECRET, name="a") + entry(SECRET, name="b"), "token 2 has the sha256 of an earlier one"),
        (entry(SECRET, name="a") + "[quota.t]\nspans_per_second = 0\n", "not a number above 0"),
        (entry(SECRET, name="a") + '[quota.t]\nbytes_per_second = "lots"\n', "not a number above 0"),
        (entry(SECRET, name="a") + "[quota]\nt = 5\n", "quota.t is not a table"),
        (entry(SECRET, name="a") + f"{SECRET}{SECRET} =", "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_showing_what_is_in_it(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        TokenFile(file, print)
    message = str(refused.value)
    assert said in message and str(file) in message
    assert SECRET not in message and hashlib.sha256(SECRET.encode()).hexdigest() not in message


def test_a_file_that_everybody_may_write_is_refused(door: Door) -> None:
    door.file.chmod(0o666)
    with pytest.raises(ConfigError, match=r"mode is 0666. Run: chmod 600"):
        read_tokens(door.file)


def test_a_change_counts_from_the_next_request_on(door: Door) -> None:
    assert door.gate.admit("Writer-1", "write").name == "writer"
    with pytest.raises(Unauthenticated):
        door.gate.admit("Writer-2", "write")
    replaced = door.file.with_name("new")
    replaced.write_text(entry("Writer-2", name="second"), encoding="utf-8")
    replaced.rename(door.file)
    assert door.gate.admit("Writer-2", "write").name == "second"
    with pytest.raises(Unauthenticated):
        door.gate.admit("Writer-1", "write")


@pytest.mark.parametrize("damage", ["broken", "gone"])
def test_a_bad_change_keeps_what_was_in_force_and_says_so_once(door: Door, damage: str) -> None:
    assert door.gate.admit("Writer-1", "write").name == "writer"
    if damage == "broken":
        door.write("[[token]\n")
    else:
        door.file.unlink()
    for _ in range(3):
        assert door.gate.admit("Writer-1", "write").name == "writer"
    assert len(door.said) == 1 and "the previous tokens stay in force" in door.said[0]
    door.write(entry("Writer-3", name="third"))
    assert door.gate.admit("Writer-3", "write").name == "third"


@pytest.mark.parametrize(
    ("token", "right", "error", "said"),
    [
        (None, "write", Unauthenticated, "a token is needed"),
        ("", "read", Unauthenticated, "a token is needed"),
        ("nobody's", "read", Unauthenticated, "not known"),
        ("x" * 5000, "read", Unauthenticated, "not known"),
        ("Old-1", "write", Unauthenticated, "'old' expired at 2026-11-21T11:59:59Z"),
        ("Writer-1", "read", Forbidden, "'writer' may not ask"),
        ("Writer-1", "admin", Forbidden, "'writer' may not run"),
        ("Reader-1", "write", Forbidden, "'reader' may not send"),
        ("Admin-1", "read", Forbidden, "'admin' may not ask"),
    ],
)
@pytest.mark.requirement("R35")
def test_the_gate_refuses_and_says_why(
    door: Door, token: str | None, right: Right, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as refused:
        door.gate.admit(token, right)
    assert said in str(refused.value)
    assert not token or token not in str(refused.value)
    counters = door.gate.counters
    assert (counters.unauthenticated, counters.forbidden) == (
        int(error is Unauthenticated),
        int(error is Forbidden),
    )
    assert door.gate.turned_away_at_intake == (right == "write")


def test_the_gate_complains_of_a_file_that_is_not_in_force_before_anybody_comes(door: Door) -> None:
    gate = Gate(TokenFile(door.file, lambda line: None))
    assert gate.complaint == "" == Gate().complaint
    door.write("[[token]\n")
    assert gate.complaint.startswith("the previous tokens stay in force: ")
    door.file.unlink()
    assert "cannot read the tokens" in gate.complaint
    door.write(STANDARD)
    assert gate.complaint == ""


def test_a_token_counts_until_it_expires(door: Door) -> None:
    assert door.gate.admit("Young-1", "write").expires is not None
    late = Gate(TokenFile(door.file, print), now=lambda: NOW.replace(minute=1))
    with pytest.raises(Unauthenticated, match="expired"):
        late.admit("Young-1", "write")


@pytest.mark.requirement("R35")
def test_nothing_that_is_printed_shows_a_token_or_its_hash(door: Door) -> None:
    digest = hashlib.sha256(SECRET.encode()).digest()
    tokens = read_tokens(door.file)
    for shown in (
        repr(tokens),
        repr(tokens.find(SECRET)),
        repr(door.gate),
        repr(TokenFile(door.file, print)),
    ):
        assert SECRET not in shown and digest.hex() not in shown and repr(digest) not in shown


def test_without_a_file_everybody_is_let_in_as_the_tenant_of_the_directory(tmp_path: Path) -> None:
    assert Gate().admit(None, "admin").tenant == "default"
    Tenancy(tmp_path).claim("acme")
    assert Gate(tenancy=Tenancy(tmp_path)).admit("anything", "write").tenant == "acme"


@pytest.mark.requirement("R37")
def test_a_directory_is_of_the_tenant_that_wrote_first(tmp_path: Path) -> None:
    first = Tenancy(tmp_path)
    first.check("a")
    first.check("b")
    assert first.tenant is None and not (tmp_path / "tenant").exists()
    first.claim("a")
    assert (tmp_path / "tenant").read_text() == "a\n"
    again = Tenancy(tmp_path)
    again.claim("a")
    for refused in (again.check, again.claim):
        with pytest.raises(Forbidden) as error:
            refused("b")
        assert "one tenant" in str(error.value) and "'a'" not in str(error.value)


@pytest.mark.requirement("R37")
def test_a_directory_that_lost_its_name_is_of_whoever_sent_its_records(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    assert first_sender(log) is None
    log.append(tenant="default", notes=[Note("receipt", b"{}")])
    assert first_sender(log) is None, "receipts of segments are nobody's"
    log.append(tenant="acme", traces=b"")
    log.append(tenant="default", traces=b"")
    tenancy = Tenancy(tmp_path, sender=lambda: first_sender(log))
    log.close()
    for refused in (tenancy.check, tenancy.claim):
        with pytest.raises(Forbidden):
            refused("default")
    assert not (tmp_path / "tenant").exists()
    tenancy.claim("acme")
    assert (tmp_path / "tenant").read_text() == "acme\n"


def test_what_is_not_a_name_is_refused_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "tenant").write_bytes(b"\xbc\xff")
    with pytest.raises(ConfigError, match=r"tenant does not hold the name of a tenant: it is not UTF-8"):
        Tenancy(tmp_path)


def test_a_disk_that_takes_no_name_lets_nobody_write(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    tenancy = Tenancy(gone)
    with pytest.raises(LogFull, match="cannot record the tenant"):
        tenancy.claim("a")
    assert tenancy.tenant is None
    gone.mkdir()
    tenancy.claim("a")
    assert tenancy.tenant == "a"


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({"authorization": "Bearer t"}, "t"),
        ({"authorization": "bearer  t "}, "t"),
        ({"authorization": "Basic dXNlcjp0OnQ="}, "t:t"),
        ({"authorization": "Basic dXNlcg=="}, None),
        ({"authorization": "Basic !"}, None),
        ({"authorization": "Digest t"}, None),
        ({"x-clickhouse-user": "anybody", "x-clickhouse-key": "t"}, "t"),
        ({"x-clickhouse-user": "t"}, None),
        ({}, None),
    ],
)
def test_clients_of_clickhouse_send_the_token_as_a_password(
    headers: dict[str, str], token: str | None
) -> None:
    assert clickhouse_token(headers) == token
    if "Basic" not in json.dumps(headers) and "x-clickhouse-key" not in headers:
        assert bearer(headers.get("authorization")) == token


def test_what_all_tenants_count_takes_a_right_of_its_own(door: Door, tmp_path: Path) -> None:
    watcher = entry("Watcher-1", name="watcher", rights='"metrics"')
    door.write(STANDARD + watcher)
    tokens = TokenFile(door.file, print)
    several = Gate(tokens, Tenancy(shared=True), now=lambda: NOW)
    assert several.admit("Reader-1", "read").apart
    assert not several.admit("Watcher-1", "metrics").apart
    with pytest.raises(Forbidden, match="lacks the right 'metrics'"):
        several.admit("Reader-1", "metrics")
    with pytest.raises(Forbidden, match="lacks the right 'metrics'"):
        several.admit("Admin-1", "metrics")
    with pytest.raises(Forbidden):
        several.admit("Watcher-1", "read")
    # A directory is of one tenant, whatever tokens there are; and so is a server of which one tenant has tokens.
    alone = [Gate(tokens, Tenancy(), now=lambda: NOW)]
    other = tmp_path / "alone.toml"
    other.write_text(entry("Reader-1", name="reader", rights='"read"') + watcher, encoding="utf-8")
    other.chmod(0o600)
    alone.append(Gate(TokenFile(other, print), Tenancy(shared=True), now=lambda: NOW))
    for gate in alone:
        assert not gate.admit("Reader-1", "metrics").apart
        assert not gate.admit("Watcher-1", "metrics").apart
