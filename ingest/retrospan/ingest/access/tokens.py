"""The file of tokens: the owner, rights and expiry of each; and how much a tenant may send.

    [[token]]
    name = "agents"             # what messages call it
    sha256 = "64 hex digits"    # of the token; the token itself is nowhere in the file
    rights = ["write"]          # write, read, admin, metrics
    tenant = "default"          # optional
    expires = 2027-01-01T00:00:00Z    # optional

    [quota.default]             # optional, by tenant
    spans_per_second = 5000
    bytes_per_second = "20 MiB"

The file is checked at every request, so a change takes effect with the next one. If it cannot be used, the previous
tokens stay in force, which is logged once, and told by `/health`; a file that others could have written cannot be used.
Messages never name a value of the file other than a token's name.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from retrospan.ingest.settings.setting_values import parse_bytes
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError

Right: TypeAlias = Literal["write", "read", "admin", "metrics"]

RIGHTS: frozenset[Right] = frozenset(get_args(Right))
DEFAULT_TENANT = "default"
#: A token is compared with every entry, whichever matches.
MOST_TOKENS = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_HOW_TO_HASH = 'write sha256 = "…" with what `printf %s "$TOKEN" | sha256sum` prints'


@dataclass(frozen=True, slots=True)
class Grant:
    """What the bearer of a token may do, for which tenant."""

    name: str
    tenant: str = DEFAULT_TENANT
    rights: frozenset[Right] = RIGHTS
    expires: datetime | None = None
    apart: bool = False
    """Others' rows lie in the same warehouse, and this token may not even see how many."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant may send per second; None means no limit."""

    spans_per_second: float | None = None
    bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class TokenTable:
    """One reading of the file."""

    entries: tuple[tuple[bytes, Grant], ...] = field(repr=False)
    quotas: Mapping[str, Quota]

    @property
    def is_of_several(self) -> bool:
        """Whether the tokens are of more than one tenant."""
        return len({grant.tenant for _, grant in self.entries}) > 1

    def find(self, token: str) -> Grant | None:
        """Return the grant of a token, in a time that does not depend on which entry matches, or whether one does."""
        digest = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        found: Grant | None = None
        for known, grant in self.entries:
            if hmac.compare_digest(known, digest):
                found = grant
        return found


class TokenFile:
    """The file as it is now. Shared by all threads."""

    def __init__(self, path: Path, log_event: Callable[[str], None]) -> None:
        """Read the file; `log_event` gets a line when a later change cannot be used.

        Raises:
            ConfigError: the file cannot be used.
        """
        self.path = path
        self._log_event = log_event
        self.fault = ""
        """Why what the file holds now is not in force; '' when it is."""
        self._reading = threading.Lock()
        self._seen = _state(path)
        self._tokens = read_tokens(path)

    def current(self) -> TokenTable:
        """Return the tokens in force: those of the file, or of its last version that could be used."""
        state = _state(self.path)
        if state != self._seen:
            with self._reading:
                if state != self._seen:
                    self._read_again(state)
        return self._tokens

    def _read_again(self, state: tuple[int, ...]) -> None:
        try:
            tokens = read_tokens(self.path)
        except ConfigError as error:
            self.fault = f"the previous tokens stay in force: {error}"
            self._log_event(self.fault)
        else:
            self.fault = ""
            self._tokens = tokens
            self._log_event(f"tokens in force from {self.path}: {len(tokens.entries)}")
        # The state from before the reading: a change during it is seen by the next look.
        self._seen = state


def read_tokens(path: Path) -> TokenTable:
    """Read a file of tokens.

    Raises:
        ConfigError: which entry cannot be used and why.
    """
    try:
        require_trusted(path, "the tokens in")
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the tokens in {path}: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        # The parser's message may hold the text it stumbled over: only the place is named.
        place = re.search(r"\(at [^)]*\)$", str(error))
        raise ConfigError(f"{path} is not TOML{' ' + place[0] if place else ''}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8.") from None
    _only(tree, {"token", "quota"}, str(path))
    tables = tree.get("token")
    if not isinstance(tables, list) or not tables:
        raise ConfigError(f"{path} has no [[token]].")
    if len(tables) > MOST_TOKENS:
        raise ConfigError(f"{path} has {len(tables):,} tokens; {MOST_TOKENS:,} are the maximum.")
    entries = tuple(_entry(table, f"{path}: token {number}") for number, table in enumerate(tables, start=1))
    for what, values in (
        ("name", [grant.name for _, grant in entries]),
        ("sha256", [digest.hex() for digest, _ in entries]),
    ):
        for number, value in enumerate(values):
            if value in values[:number]:
                raise ConfigError(f"{path}: token {number + 1} has the {what} of an earlier one.")
    return TokenTable(entries, _quotas(tree.get("quota", {}), path))


def _entry(table: object, place: str) -> tuple[bytes, Grant]:
    if not isinstance(table, dict):
        raise ConfigError(f"{place} is not a table.")
    if "token" in table:
        raise ConfigError(f"{place}: the file holds no tokens, only their SHA-256: {_HOW_TO_HASH}.")
    _only(table, {"name", "sha256", "rights", "tenant", "expires"}, place)
    name, digest, rights = table.get("name"), table.get("sha256"), table.get("rights")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{place}: name is not 1 to 64 letters, digits, '.', '_' or '-'.")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ConfigError(f"{place} ({name}): sha256 is not 64 hexadecimal digits: {_HOW_TO_HASH}.")
    if not isinstance(rights, list) or not rights or not all(right in get_args(Right) for right in rights):
        raise ConfigError(f"{place} ({name}): rights is not a list of {', '.join(get_args(Right))}.")
    tenant = table.get("tenant", DEFAULT_TENANT)
    if not isinstance(tenant, str) or not _NAME.fullmatch(tenant):
        raise ConfigError(f"{place} ({name}): tenant is not 1 to 64 letters, digits, '.', '_' or '-'.")
    expires = table.get("expires")
    if expires is not None and not (isinstance(expires, datetime) and expires.tzinfo):
        raise ConfigError(
            f"{place} ({name}): expires is not a time with its zone, such as 2027-01-01T00:00:00Z."
        )
    until = expires.astimezone(UTC) if expires is not None else None
    return bytes.fromhex(digest), Grant(name, tenant, frozenset(cast("list[Right]", rights)), until)


def _quotas(tables: object, path: Path) -> dict[str, Quota]:
    if not isinstance(tables, dict):
        raise ConfigError(f"{path}: quota is not a table by tenant: write [quota.{DEFAULT_TENANT}].")
    found: dict[str, Quota] = {}
    for tenant, table in tables.items():
        place = f"{path}: quota.{tenant}"
        if not isinstance(table, dict):
            raise ConfigError(f"{place} is not a table: write [quota.{DEFAULT_TENANT}].")
        _only(table, {"spans_per_second", "bytes_per_second"}, place)
        rates: dict[str, float] = {}
        for key, value in table.items():
            try:
                rate = float(parse_bytes(value)) if key == "bytes_per_second" else float(value)
            except (TypeError, ValueError):
                rate = 0.0
            if not 0 < rate < 1e15:
                raise ConfigError(f"{place}: {key} is not a number above 0.")
            rates[key] = rate
        found[tenant] = Quota(rates.get("spans_per_second"), rates.get("bytes_per_second"))
    return found


def _only(table: Mapping[str, object], known: set[str], place: str) -> None:
    if unknown := sorted(set(table) - known):
        raise ConfigError(f"{place}: unknown key {unknown[0][:40]!r}. Known: {', '.join(sorted(known))}.")


def _state(path: Path) -> tuple[int, ...]:
    """Return what changes when the file does; () when it cannot be looked at."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
