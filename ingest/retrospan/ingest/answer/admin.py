"""`POST /admin/v1/<command>`: the commands that change the warehouse, one at a time.

A command reports its progress as mappings; they go out as JSON lines as they come. The last line says `{"done": true}`
or `{"error": …}`. A command runs to its end even if the client disconnects. A second command is refused while one runs;
a command waits for the collector's own work to end.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from retrospan.ingest.http.messages import Request, Response, text
from retrospan.ingest.logs import log_failure
from retrospan.schemas.errors import RetrospanError

Progress = Mapping[str, object]
Report = Callable[[Progress], None]
Command = Callable[[Mapping[str, object], Report], None]
_SAY_WAITING_SECONDS = 1.0


class Admin:
    """The registered commands by name."""

    def __init__(self, commands: Mapping[str, Command]) -> None:
        self._commands = dict(commands)
        self._asked = threading.Lock()  # held by the command under way
        self._changing = (
            threading.Lock()
        )  # held by whoever changes the warehouse: it, or the collector by itself
        self._thread: threading.Thread | None = None

    def answer(self, request: Request, name: str) -> Response:
        """Start the command of that name with the JSON object of the body as arguments."""
        command = self._commands.get(name)
        if command is None:
            known = ", ".join(sorted(self._commands)) or "none"
            return text(404, f"no command {name[:60]}. Known: {known}.\n")
        if request.method != "POST":
            return text(405, f"/admin/v1/{name} changes the warehouse: use POST.\n")
        try:
            arguments = json.loads(request.body or b"{}")
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            return text(400, "the body is not a JSON object of arguments.\n")
        if not self._asked.acquire(blocking=False):
            return text(409, "another command is running. Try again when it has ended.\n")
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._run, args=(command, arguments, lines), name=f"admin-{name}", daemon=True
        )
        self._thread.start()
        return Response(200, content_type="application/x-ndjson", stream=iter(lines.get, b""))

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Let commands wait meanwhile; False when one is running just now, and then none has to wait."""
        held = self._changing.acquire(blocking=False)
        try:
            yield held
        finally:
            if held:
                self._changing.release()

    def wait(self, seconds: float) -> bool:
        """Wait for a running command; False when it still runs after that many seconds."""
        thread = self._thread
        if thread is None:
            return True
        thread.join(seconds)
        return not thread.is_alive()

    def _run(
        self, command: Command, arguments: Mapping[str, object], lines: queue.SimpleQueue[bytes]
    ) -> None:
        if not self._changing.acquire(timeout=_SAY_WAITING_SECONDS):
            lines.put(_line({"phase": "waiting for the collector's own work to end"}))
            self._changing.acquire()
        try:
            command(arguments, lambda progress: lines.put(_line(progress)))
            last: Progress = {"done": True}
        except RetrospanError as error:
            last = {"error": str(error)}
        except Exception as error:  # noqa: BLE001
            # The boundary of a thread: the reader of the lines must learn that no more will come.
            log_failure("an admin command", error)
            last = {"error": f"{type(error).__name__}: {error}"}
        finally:
            self._changing.release()
            self._asked.release()
        lines.put(_line(last))
        lines.put(b"")


def _line(progress: Progress) -> bytes:
    return json.dumps(progress).encode() + b"\n"
