"""ClickHouse's HTTP interface over the real engine, with writing allowed and faults on demand: a server for tests.

    python engine_server.py DIRECTORY PORT          prints its port; ends when its input ends

As `EngineServer` it also runs over an engine that is open already. It speaks what ClickHouse documents of its HTTP
interface and our client uses: the statement in the address or at the head of the body, data behind it, `param_*`,
settings and `database` in the address, Basic and X-ClickHouse-User, X-ClickHouse-Exception-Code.

Faults are set with `fault` or by `POST /fault?…`: `down` answers nobody, `hang` never answers, `slow` waits before
it runs an insert, `cut` runs the next inserts and closes the connection without an answer, `refuse` answers with an
error number.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import RetrospanError, SqlError
from retrospan.schemas.store import Escaped

_INSERT = re.compile(rb"\A\s*(INSERT INTO .+?) FORMAT (\w+)\s*\Z", re.DOTALL)
_OWN = frozenset(
    {"query", "database", "default_format", "wait_end_of_query", "query_id", "session_id"}
    | {"send_progress_in_http_headers", "http_headers_progress_interval_ms", "compress", "decompress"}
    | {"client_protocol_version", "user", "password"}
)
_PROGRESS = re.compile(r"Code: (\d+)")


@dataclass(slots=True)
class Fault:
    """What goes wrong. Seconds and counts; 0 is nothing."""

    down: bool = False
    hang: bool = False
    slow_seconds: float = 0.0
    cut: int = 0
    """So many inserts are run and not answered."""
    refuse: int = 0
    """The error number of every statement."""


class EngineServer:
    """Listens on a free port of this machine until `close`."""

    def __init__(
        self, warehouse: EmbeddedWarehouse, port: int = 0, user: str = "default", password: str = ""
    ) -> None:
        self.fault = Fault()
        self.counted: Counter[str] = Counter()
        """Statements by their first word, and `unanswered` ones."""
        self.tokens: list[str] = []
        """The deduplication tokens of inserts, in order."""
        self.settings: list[dict[str, str]] = []
        """The settings of inserts, in order."""
        self._warehouse = warehouse
        self._login = (user, password)
        self._idle: list[EmbeddedStore] = []
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", port), self)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """As `--warehouse` takes it, without a login."""
        return f"clickhouse://127.0.0.1:{self.port}/retrospan"

    def close(self) -> None:
        """Stop listening, cut every connection, and give the engine back."""
        self.fault = Fault(down=True)
        self._server.shutdown()
        self._server.server_close()
        self.cut_all()
        self._thread.join()
        deadline = time.monotonic() + 300
        while self.counted["running"] and time.monotonic() < deadline:
            time.sleep(0.01)
        with self._lock:
            stores, self._idle = self._idle, []
        for store in stores:
            store.close()

    def cut_all(self, but: socket.socket | None = None) -> None:
        """Break every open connection, as a server that dies; `but` is the one that asked for it."""
        with self._lock:
            found = [connection for connection in self._sockets if connection is not but]
        for connection in found:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def holds(self, connection: socket.socket, open: bool) -> None:
        with self._lock:
            (self._sockets.add if open else self._sockets.discard)(connection)

    def may_enter(self, headers: Any, address: dict[str, str]) -> bool:
        user = headers.get("X-ClickHouse-User") or address.get("user", "default")
        password = headers.get("X-ClickHouse-Key") or address.get("password", "")
        scheme, _, value = (headers.get("Authorization") or "").partition(" ")
        if scheme == "Basic":
            user, _, password = base64.b64decode(value).decode().partition(":")
        return (user, password) == self._login

    def run(self, address: dict[str, str], body: bytes) -> tuple[bytes, str]:
        """Run one statement; return its result and the format of that."""
        asked = address.get("query", "").encode()
        settings = {
            name: value
            for name, value in address.items()
            if name not in _OWN and not name.startswith("param_")
        }
        parameters = {
            name.removeprefix("param_"): Escaped(value)
            for name, value in address.items()
            if name.startswith("param_")
        }
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        store = idle or self._warehouse.connect()
        usable = True
        try:
            store.command(f"USE `{address.get('database', 'default')}`")
            insert = _INSERT.match(asked)
            if insert is not None:
                self.counted["INSERT"] += 1
                self.tokens.append(settings.get("insert_deduplication_token", ""))
                self.settings.append(settings)
                store.insert(insert[1].decode(), body, insert[2].decode(), settings)
                return b"", "TabSeparated"
            statement = (asked + b"\n" + body if asked and body else asked or body).decode()
            self.counted[statement.split(None, 1)[0].upper()] += 1
            # A FORMAT clause of the statement goes before this one.
            output = address.get("default_format", "TabSeparated")
            found = re.search(r"\bFORMAT\s+(\w+)\s*\Z", statement)
            # All at once, as a server checks them: with readonly among them nothing could be set after it.
            told = ", ".join(f"{name} = '{_escaped(value)}'" for name, value in settings.items())
            if told:
                store.command(f"SET {told}")
            try:
                return store.query(statement, parameters, output_format=output), found[1] if found else output
            finally:
                if settings.get("readonly", "0") != "0":
                    # That cannot be taken back.
                    store.close()
                    usable = False
                for name in settings if usable else ():
                    store.command(f"SET {name} = DEFAULT")
        finally:
            if usable:
                with self._lock:
                    self._idle.append(store)


def fields_of(content_type: str, body: bytes) -> dict[str, str]:
    """The fields of a multipart form."""
    whole = f"Content-Type: {content_type}\r\n\r\n".encode() + body
    found: dict[str, str] = {}
    for part in BytesParser(policy=default).parsebytes(whole).walk():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(data, bytes):
            found[name] = data.decode()
    return found


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], engine: EngineServer) -> None:
        self.engine = engine
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is what is tested here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def engine(self) -> EngineServer:
        """Whose request this is."""
        assert isinstance(self.server, _Server)
        return self.server.engine

    def setup(self) -> None:
        super().setup()
        self.engine.holds(self.connection, True)

    def finish(self) -> None:
        self.engine.holds(self.connection, False)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the tests look at what happened, not at lines."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        engine = self.engine
        parts = urlsplit(self.path)
        address = dict(parse_qsl(parts.query, keep_blank_values=True))
        body = self._body()
        if "multipart/form-data" in self.headers.get("Content-Type", ""):
            # Long parameters come as fields of a form, and the statement as one of them.
            address |= fields_of(self.headers["Content-Type"], body)
            body = b""
        if parts.path == "/fault":
            told = {name: json.loads(value) for name, value in address.items()}
            engine.fault = Fault(**told)
            if told.get("down"):
                engine.cut_all(but=self.connection)
            self._reply(200, b"")
            return
        if parts.path == "/counted":
            self._reply(200, json.dumps({**engine.counted, "tokens": engine.tokens}).encode())
            return
        fault = engine.fault
        if fault.down:
            self._hang_up()
            return
        if fault.hang:
            engine.counted["unanswered"] += 1
            while engine.fault.hang:
                time.sleep(0.02)
            self._hang_up()
            return
        if parts.path == "/ping":
            self._reply(200, b"Ok.\n")
            return
        if not engine.may_enter(self.headers, address):
            self._refuse(
                516, "Code: 516. DB::Exception: default: Authentication failed. (AUTHENTICATION_FAILED)"
            )
            return
        if fault.refuse:
            self._refuse(fault.refuse, f"Code: {fault.refuse}. DB::Exception: refused for the test.")
            return
        is_insert = address.get("query", "").lstrip().startswith("INSERT")
        if is_insert and fault.slow_seconds:
            time.sleep(fault.slow_seconds)
        engine.counted["running"] += 1
        try:
            data, output = engine.run(address, body)
        except SqlError as error:
            self._refuse(error.code or 1002, str(error))
            return
        except RetrospanError as error:
            found = _PROGRESS.search(str(error))
            self._refuse(int(found[1]) if found else 1002, str(error))
            return
        finally:
            engine.counted["running"] -= 1
        if is_insert and engine.fault.cut:
            engine.fault.cut -= 1
            engine.counted["unanswered"] += 1
            self._hang_up()
            return
        self._reply(200, data, {"X-ClickHouse-Format": output, "X-ClickHouse-Summary": "{}"})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def _refuse(self, code: int, message: str) -> None:
        self._reply(500, message.encode(errors="replace"), {"X-ClickHouse-Exception-Code": str(code)})

    def _reply(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _hang_up(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main() -> None:
    warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
    server = EngineServer(warehouse, int(sys.argv[2]))
    print(server.port, flush=True)
    sys.stdin.read()
    server.close()
    warehouse.close()


if __name__ == "__main__":
    main()
