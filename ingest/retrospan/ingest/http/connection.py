"""A connection to an HTTP port that does not wait forever.

uvicorn waits as long as a client likes: for the first line and the headers of a request, for its body, and for the
client to take the answer. A few hundred silent clients could then occupy every slot. Here headers have a deadline, and
so has an answer that is not read; and when there are too many connections, the one that has kept the port waiting
longest is closed, so new clients get in. Some slots are reserved for probes.
"""

from __future__ import annotations

import asyncio
import select
import socket
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from retrospan.ingest.http import native_client
from retrospan.ingest.http.framing import StrictBuffer
from retrospan.ingest.machine.operating_system import descriptor_limit

HEADER_SECONDS = 10.0
UNREAD_SECONDS = 30.0
HALF_CLOSED_SECONDS = 1.0
MOST_CONNECTIONS = 4096
RESERVE = 32
HEADER_BYTES = 64 * 1024
#: So many heads may be longer than that at once, where a port takes such: nobody has said yet who sends them.
LARGE_HEADS = 32
#: How much a client may send behind a request that is being answered. What is not read hides that it has gone.
BEHIND_BYTES = 256 * 1024
#: Under this name an application finds the connection in the state of its scope.
CONNECTION = "retrospan.connection"
_LINGER_SECONDS = 5.0
_HUNG_UP = select.POLLRDHUP | select.POLLHUP | select.POLLERR


def most_connections() -> int:
    """How many connections a port may have: a quarter of the process's descriptors, the rest is for its files."""
    limit = descriptor_limit()
    return MOST_CONNECTIONS if limit is None else max(16, min(MOST_CONNECTIONS, limit // 4))


@dataclass(slots=True)
class Crowd:
    """The connections of one port, and what it waits for. Everything here happens in the one thread of its loop.

    `header_seconds`: for the headers of a request. `unread_seconds`: for some of an answer to be taken.
    `most` requests are in progress at once; `reserve` more places are for probes.
    """

    most: int
    header_seconds: float = HEADER_SECONDS
    unread_seconds: float = UNREAD_SECONDS
    reserve: int = RESERVE
    header_bytes: int = HEADER_BYTES
    address_bytes: int = 0
    """How long a head may be of `LARGE_HEADS` connections at once, where that is more than `header_bytes`."""
    large: set[Connection] = field(default_factory=set["Connection"])
    # In the order in which they began to wait: for headers, for the rest of a body.
    silent: dict[Connection, None] = field(default_factory=dict["Connection", None])
    sending: dict[Connection, None] = field(default_factory=dict["Connection", None])
    everybody: set[Connection] = field(default_factory=set["Connection"])

    def make_room(self) -> None:
        """Close who keeps the port waiting longest while there are too many connections."""
        while len(self.everybody) > self.most + self.reserve and self._close_slowest(spared=None):
            pass

    def has_place(self, connection: Connection) -> bool:
        """Return whether a request of this connection may be worked on; somebody slower goes for it."""
        while len(self.everybody) - len(self.silent) > self.most:
            if not self._close_slowest(spared=connection, silent=False):
                return False
        return True

    def look(self, now: float) -> None:
        """Close connections whose answer nobody takes. Called once a second."""
        for connection in list(self.everybody):
            connection.look(now, self.unread_seconds)

    def _close_slowest(self, spared: Connection | None, silent: bool = True) -> bool:
        slow = next(iter(self.silent), None) if silent else None
        slow = slow or next((each for each in self.sending if each is not spared), None)
        if slow is None:
            unread = [each for each in self.everybody if each.unread_since is not None and each is not spared]
            slow = min(unread, key=lambda each: each.unread_since or 0.0, default=None)
        if slow is None:
            return False
        slow.give_up()
        return True


class Connection(H11Protocol):
    """One connection: waits for headers, or has a request in progress."""

    def __init__(self, crowd: Crowd, config: Any, server_state: Any) -> None:
        super().__init__(config, server_state, {CONNECTION: self})
        self._crowd = crowd
        self._received = self.conn._receive_buffer = StrictBuffer(self._admits)
        self.unread_since: float | None = None
        """Since when there is something of an answer that the client does not take; of the loop's clock."""
        self._deadline: asyncio.TimerHandle | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._half_closed = False
        self._drops = False
        self._is_new = True

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # asyncio does so for sockets that name their protocol only: an answer in two parts would wait 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._crowd.everybody.add(self)
        self._wait_for_headers()
        self._crowd.make_room()

    def data_received(self, data: bytes) -> None:
        if self._drops:
            return
        is_new, self._is_new = self._is_new, False
        if is_new and data.startswith(native_client.HELLO):
            self._refuse_native()
            return
        super().data_received(data)
        if self._is_in_progress():
            self._stop_waiting_for_headers()
            if self.cycle.more_body:
                self._crowd.sending.setdefault(self)
            else:
                self._crowd.sending.pop(self, None)
        elif self._deadline is None and not self.transport.is_closing():
            self._wait_for_headers()

    def eof_received(self) -> Any:  # asyncio asks for a bool, uvicorn says None
        """Wait a moment: a client that is done writing may still read the answer to a request in progress."""
        if self._is_in_progress() and not self.cycle.more_body and self.scheme == "http":
            self._half_closed = True
            self._ending = self._ending or self.loop.call_later(HALF_CLOSED_SECONDS, self.transport.abort)
            return True
        return False

    def on_response_complete(self) -> None:
        self._crowd.large.discard(self)
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_in_progress():
            self._crowd.sending.pop(self, None)
            if self._half_closed:
                self.give_up()
            else:
                self._wait_for_headers()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not a request; in the middle of an answer there is nothing to say any more."""
        if self._received.refused_size and self.conn.our_state is h11.IDLE:
            self._refuse_size()
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        self.give_up()

    def _refuse_native(self) -> None:
        """Tell a client of ClickHouse's native protocol so in its own words: it cannot read an answer of HTTP."""
        self.transport.write(native_client.refusal())
        self._stop_waiting()
        self._end()

    def _refuse_size(self) -> None:
        """Say that a head is too long, and take what is still on its way: else the client never reads the answer."""
        most = max(self._crowd.header_bytes, self._crowd.address_bytes)
        said = f"the address and the headers may have {most:,} bytes together, of few requests at once more than "
        said += f"{self._crowd.header_bytes:,}. Send what is larger in the body.\n"
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        headers.append((b"content-length", str(len(said)).encode()))
        for event in (
            h11.Response(status_code=431, headers=headers),
            h11.Data(data=said.encode()),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
        self._received = self.conn._receive_buffer = StrictBuffer(self._admits)
        self._stop_waiting()
        self._crowd.large.discard(self)
        self._end()

    def _end(self) -> None:
        """Say no more, and drop what is still on its way."""
        self._drops = True
        self._ending = self._ending or self.loop.call_later(_LINGER_SECONDS, self.transport.abort)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _admits(self, line: int, headers: int) -> bool:
        """Return whether a head may be so long: the first line of a few at once may be longer than all of others."""
        crowd = self._crowd
        if line + headers <= crowd.header_bytes:
            return True
        if (
            headers <= crowd.header_bytes
            and line <= crowd.address_bytes
            and (self in crowd.large or len(crowd.large) < LARGE_HEADS)
        ):
            crowd.large.add(self)
            return True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.large.discard(self)
        self._stop_waiting()
        if self._ending is not None:
            self._ending.cancel()
        self._crowd.everybody.discard(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread_since = self.unread_since or self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread_since = None

    def look(self, now: float, unread_seconds: float) -> None:
        """Note whether the client takes what is there for it; end the connection when it does not for too long."""
        if self.transport.get_write_buffer_size() == 0:
            self.unread_since = None
        elif self.unread_since is None:
            self.unread_since = now
        elif now - self.unread_since > unread_seconds:
            self.transport.abort()

    def has_stalled(self, seconds: float) -> bool:
        """Return whether the client has taken nothing worth mentioning of its answer for so long."""
        return self.unread_since is not None and self.loop.time() - self.unread_since > seconds

    def read_behind(self) -> None:
        """Read what the client has sent behind the request at hand: its end comes after that.

        uvicorn reads nothing more before the answer. More than `BEHIND_BYTES` ends the connection.
        """
        if len(self._received) > BEHIND_BYTES:
            self.transport.abort()
        else:
            self.flow.resume_reading()

    @property
    def has_hung_up(self) -> bool:
        """Whether the client has gone, or will at least send nothing more."""
        if self.transport.is_closing():
            return True
        peer: socket.socket | None = self.transport.get_extra_info("socket")
        if peer is None or peer.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(peer.fileno(), _HUNG_UP)
        return bool(poll.poll(0))

    def enter(self) -> bool:
        """Return whether there is a place for the request at hand."""
        return self._crowd.has_place(self)

    def give_up(self) -> None:
        """Close the connection; what is on its way has a few seconds to arrive."""
        self._stop_waiting()
        self._crowd.everybody.discard(self)
        self.connections.discard(self)
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self._ending = self._ending or self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def _is_in_progress(self) -> bool:
        # uvicorn names no cycle before the first request.
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _wait_for_headers(self) -> None:
        self._stop_waiting()
        self._crowd.silent[self] = None
        self._deadline = self.loop.call_later(self._crowd.header_seconds, self.give_up)

    def _stop_waiting(self) -> None:
        self._crowd.sending.pop(self, None)
        self._stop_waiting_for_headers()

    def _stop_waiting_for_headers(self) -> None:
        self._crowd.silent.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
