"""The collector's SQL port, asked over HTTP: typed rows, raw formats, and the admin commands.

Errors name the address and where it came from (RETROSPAN_URL or the default).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from retrospan.ingest.cli.client.engine_errors import sql_error
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.queries.credentials import Credentials
from retrospan.schemas.broken_off import failure_at_end
from retrospan.schemas.errors import CollectorUnreachable, ConfigError, PermanentError, RetrospanError
from retrospan.schemas.literals import parameter_text

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

DEFAULT_URL = "http://127.0.0.1:8123"
ROWS_FORMAT = "JSONCompactEachRowWithNamesAndTypes"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 900.0
Parameter = str | int | Sequence[str] | Sequence[int]
#: A row by column name. Times in UTC are `Moment`, 64-bit integers int, unknown values None.
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class QueryResult:
    names: list[str]
    types: list[str]
    rows: list[Row]


class CollectorClient:
    """One collector's SQL port. Opens a connection for each request. Safe to share between threads."""

    def __init__(self, url: str, origin: str, credentials: Credentials | None = None) -> None:
        """`origin` says where the address came from, for error messages."""
        try:
            parts = urlsplit(url if "//" in url else f"http://{url}")
            port = parts.port
        except ValueError:  # such as an address of IPv6 whose bracket is not closed
            parts, port = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"'{url}' ({origin}) is not an address: use http://HOST:PORT, like {DEFAULT_URL}"
            )
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.origin = origin
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = port or (443 if self._secure else 8123)
        self._path = parts.path.rstrip("/")
        self._credentials = credentials or Credentials()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> CollectorClient:
        named = environ.get("RETROSPAN_URL", "").strip()
        credentials = Credentials.read(environ)
        if named:
            return cls(named, "from RETROSPAN_URL", credentials)
        return cls(DEFAULT_URL, "the default; RETROSPAN_URL sets it", credentials)

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return f"{self._host}:{self._port}"

    @property
    def has_token(self) -> bool:
        """Whether requests carry a token."""
        return bool(self._credentials.token)

    def ask(self, sql: str, parameters: Mapping[str, Parameter] | None = None) -> QueryResult:
        """Run one statement and read all of its rows. Raises SqlError, CollectorUnreachable."""
        body, found = self.fetch(sql, ROWS_FORMAT, parameters)
        if found != ROWS_FORMAT:
            raise PermanentError(f"{self.url} answered in the format {found}, not in {ROWS_FORMAT}.")
        try:
            return read_rows(body)
        except (ValueError, TypeError) as error:
            raise self.wrong_port("its answer holds no rows") from error

    def fetch(
        self, sql: str, output_format: str, parameters: Mapping[str, Parameter] | None = None
    ) -> tuple[bytes, str]:
        """Run one statement; return the bytes of its result, and the format they are in."""
        pieces: list[bytes] = []
        found = self.stream(sql, output_format, pieces.append, parameters)
        return b"".join(pieces), found

    def stream(
        self,
        sql: str,
        output_format: str,
        write: Callable[[bytes], object],
        parameters: Mapping[str, Parameter] | None = None,
        begin: Callable[[str], object] | None = None,
    ) -> str:
        """Run one statement and hand its result on in pieces; return the format it is in, which `begin` is told before.

        A statement that fails in the middle raises what it says once all before that is handed on.
        """
        from http.client import IncompleteRead

        query: dict[str, str] = {"database": "retrospan", "default_format": output_format}
        for name, value in (parameters or {}).items():
            query[f"param_{name}"] = parameter_text(value)
        with _Request(
            self, "POST", f"/?{urlencode(query)}", sql.encode(errors="surrogateescape")
        ) as response:
            found = response.getheader("X-ClickHouse-Format")
            if response.status != 200 or response.getheader("X-ClickHouse-Exception-Code"):
                raise self._refused(response, sql)
            if begin is not None:
                begin(found or output_format)
            held = b""  # what fails may be written across two pieces
            try:
                while piece := response.read(1 << 18):
                    write(held)
                    held = piece
            except IncompleteRead as broken:
                failed = failure_at_end(
                    held + broken.partial, response.getheader("X-ClickHouse-Exception-Tag")
                )
                if failed is None:
                    raise
                write(failed[0])
                raise sql_error(failed[1], sql) from broken
            write(held)
        return found or output_format

    def health(self) -> dict[str, object]:
        """Return what the collector says about itself; empty if it does not."""
        try:
            return self.state()
        except RetrospanError:
            return {}

    def state(self) -> dict[str, object]:
        """Return what the collector says about itself. Raises CollectorUnreachable."""
        with _Request(self, "GET", "/health", None) as response:
            body = response.read(1 << 20)
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict) or "status" not in found:
            raise self.wrong_port(f"/health gives HTTP {response.status}, and no status")
        return found

    def admin(
        self, command: str, arguments: Mapping[str, object] | None = None
    ) -> Iterator[dict[str, object]]:
        """Start an admin command; yield its progress, one JSON object a line, until it ends."""
        body = json.dumps(arguments).encode() if arguments else b""
        with _Request(self, "POST", f"/admin/v1/{command}", body) as response:
            if response.status != 200:
                text = response.read(4096).decode(errors="replace").strip()
                if response.status == 401:
                    raise self.token_refused(text)
                raise PermanentError(
                    f"{self.url} refused {command} (HTTP {response.status}): {text or response.reason}"
                )
            while line := response.readline():
                if line.strip():
                    told = json.loads(line)
                    if isinstance(told, dict):
                        yield told

    def _refused(self, response: HTTPResponse, sql: str) -> RetrospanError:
        text = response.read(65536).decode(errors="surrogateescape").strip()
        if response.status == 404 and "Code:" not in text:
            return self.wrong_port(f"HTTP {response.status}")
        if response.status == 401:
            return self.token_refused(text)
        if response.status == 403 and "Code:" not in text:
            return PermanentError(
                f"{self.url} ({self.origin}) refused the request (HTTP {response.status}): {text or response.reason}"
            )
        return sql_error(text or f"HTTP {response.status} {response.reason}", sql)

    def token_refused(self, text: str) -> PermanentError:
        """Return the words for HTTP 401."""
        said = re.sub(r"^Code: \d+\. DB::Exception: | \([A-Z_]+\)$", "", text.strip())
        return PermanentError(
            f"{self.url} ({self.origin}) asks for a token ({self._credentials.told}): {said}"
        )

    def wrong_port(self, seen: str) -> CollectorUnreachable:
        return CollectorUnreachable(
            f"{self.url} ({self.origin}) answers, but is not a Retrospan SQL port ({seen}).\n"
            "OTLP is on 4317 and 4318, SQL on 8123; the ready line of `retrospan serve` names the ports in use."
        )

    def unreachable(self, reason: str) -> CollectorUnreachable:
        return CollectorUnreachable(
            f"cannot reach the collector at {self.url} ({reason}; {self.origin}).\nStart one: retrospan serve"
        )

    def not_trusted(self, error: Exception) -> CollectorUnreachable:
        """Return the words for a TLS handshake that failed."""
        reason = getattr(error, "verify_message", None) or getattr(error, "reason", None) or str(error)
        return CollectorUnreachable(
            f"cannot speak TLS with the collector at {self.url} ({reason}; {self.origin}).\n"
            "RETROSPAN_CA names the authorities to trust; a collector without TLS has an http:// address."
        )

    def connect(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        connection: HTTPConnection
        if self._secure:
            context = self._credentials.context()
            connection = HTTPSConnection(self._host, self._port, timeout=CONNECT_SECONDS, context=context)
        else:
            connection = HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)
        connection.connect()
        if connection.sock is not None:
            connection.sock.settimeout(ANSWER_SECONDS)
        return connection

    def headers(self) -> dict[str, str]:
        """Return what goes with every request."""
        return self._credentials.headers()

    def target(self, path: str) -> str:
        return self._path + path


class _Request:
    """One request as a context: sends it, gives the response, words what goes wrong, closes the connection."""

    def __init__(self, warehouse: CollectorClient, method: str, path: str, body: bytes | None) -> None:
        self._warehouse = warehouse
        self._method = method
        self._path = path
        self._body = body
        self._connection: HTTPConnection | None = None

    def __enter__(self) -> HTTPResponse:
        try:
            self._connection = self._warehouse.connect()
            self._connection.request(
                self._method, self._warehouse.target(self._path), self._body, self._warehouse.headers()
            )
            return self._connection.getresponse()
        except BaseException as error:
            self._close()
            if isinstance(error, BrokenPipeError):
                raise self._warehouse.unreachable("it closed the connection") from error
            raise self._worded(error) from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._close()
        if error is not None:
            worded = self._worded(error)
            if worded is not error:
                raise worded from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _worded(self, error: BaseException) -> BaseException:
        import ssl
        from http.client import BadStatusLine, HTTPException, RemoteDisconnected

        if isinstance(error, BrokenPipeError):  # our own reader went away, not the collector
            return error
        if isinstance(error, RemoteDisconnected):
            return self._warehouse.unreachable("it closed the connection without answering")
        if isinstance(error, BadStatusLine):
            return self._warehouse.wrong_port("no HTTP answer")
        if isinstance(error, TimeoutError):
            return self._warehouse.unreachable("no answer in time")
        if isinstance(error, ssl.SSLError):
            return self._warehouse.not_trusted(error)
        if isinstance(error, HTTPException):
            return self._warehouse.unreachable(f"the answer broke off: {error!r}")
        if isinstance(error, ConnectionError):
            return self._warehouse.unreachable((error.strerror or type(error).__name__).lower())
        if isinstance(error, OSError) and self._connection is None:
            return self._warehouse.unreachable((error.strerror or str(error)).lower())
        return error


def read_rows(body: bytes) -> QueryResult:
    """Read JSONCompactEachRowWithNamesAndTypes."""
    rows: list[Row] = []
    reading = RowReading(rows.append)
    reading(body)
    reading.end()
    return QueryResult(reading.names, reading.types, rows)


class RowReading:
    """Reads JSONCompactEachRowWithNamesAndTypes in pieces, and hands each row on as soon as its line is whole."""

    def __init__(self, each: Callable[[Row], object]) -> None:
        self.names: list[str] = []
        self.types: list[str] = []
        self._each = each
        self._readers: list[Callable[[object], object] | None] | None = None
        self._knows_names = False
        self._rest = b""

    def __call__(self, piece: bytes) -> None:
        """Take the next piece of the answer."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if self._readers is not None:
                self._row(line, self._readers)
            elif not self._knows_names:
                self.names, self._knows_names = json.loads(line.decode(errors="surrogateescape")), True
            else:
                self.types = json.loads(line.decode(errors="surrogateescape"))
                self._readers = [_reader(kind) for kind in self.types]

    def end(self) -> None:
        """Take what came after the last end of a line."""
        if self._rest:
            self(b"\n")

    def _row(self, line: bytes, readers: list[Callable[[object], object] | None]) -> None:
        if not line:
            return
        values: list[object] = json.loads(line.decode(errors="surrogateescape"))
        self._each(
            {
                name: value if read is None or value is None else read(value)
                for name, read, value in zip(self.names, readers, values, strict=True)
            }
        )


def _reader(kind: str) -> Callable[[object], object] | None:
    if "DateTime" in kind and "'UTC'" in kind and not kind.startswith(("Array", "Map", "Tuple")):
        return lambda value: Moment.read(str(value))
    if kind in ("UInt64", "Int64", "Nullable(UInt64)", "Nullable(Int64)"):
        return lambda value: int(value) if isinstance(value, str) else value
    return None
