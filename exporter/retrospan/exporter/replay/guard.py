"""Keeps a replayed agent in: connections, names of hosts and processes are refused, with the name of who wanted them.

The interpreter tells an audit hook of each of these before it happens, whoever asks. A hook cannot be taken away again:
it is added once, and does nothing while no replay is under way. What opens connections in C, without the interpreter's
sockets, is not seen: gRPC is refused by a hook of its own (`transports.grpc`), and uvloop asks (`transports.uvloop`).
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from typing import TYPE_CHECKING, Any, cast

from retrospan.exporter.hooks.watch import when_imported
from retrospan.exporter.replay.patches import patch

if TYPE_CHECKING:
    from retrospan.exporter.replay.replaying import Replaying

_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_NAMES = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
_NAMES_BACK = frozenset({"socket.gethostbyaddr", "socket.getnameinfo"})
_FORKS = frozenset({"os.fork", "os.forkpty"})
_STARTS = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"}
)
#: Where `multiprocessing` starts processes.
_SPAWNS = "multiprocessing.util"

#: The program that Python's own module `platform` asks, once: clients tell their provider where they run.
_ASKED_BY_PLATFORM = "uname"


class _Hook:
    """The one hook of the process."""

    added = False
    guard: Guard | None = None


class Guard:
    """Refuses for one replay what leaves the process."""

    def __init__(self, replaying: Replaying) -> None:
        self._replaying = replaying
        self._addresses: set[str] = set()
        self._resolve: Any = None
        #: What the replay of a whole process began by.
        self.variables: dict[str, str] = {}

    def begin(self) -> None:
        """Refuse from now on."""
        if not _Hook.added:
            sys.addaudithook(_audit)
            _Hook.added = True
        if _SPAWNS in sys.modules:
            _watch_spawns()
        else:
            when_imported(_SPAWNS, _watch_spawns)
        self._resolve = resolve = socket.getaddrinfo

        def getaddrinfo(host: Any, port: Any, *args: Any, **named: Any) -> Any:
            found = resolve(host, port, *args, **named)
            # Where a named host is reached: clients connect to what its name stands for.
            if isinstance(host, str | bytes) and self._is_named(_text(host), _port(port)):
                self._addresses.update(str(address[0]) for *_, address in found)
            return found

        socket.getaddrinfo = getaddrinfo
        _Hook.guard = self

    def end(self) -> None:
        """Let everything out again."""
        _Hook.guard = None
        socket.getaddrinfo = self._resolve

    def admit(self, host: str) -> None:
        """Let a host be reached from now on: a call to it goes out."""
        self._addresses.add(host)

    def _is_named(self, host: str, port: int | None) -> bool:
        return host in self._addresses or self._replaying.may_connect(host, port)

    def connect(self, address: object) -> None:
        if not isinstance(address, tuple):
            if isinstance(address, str | bytes):
                raise self._replaying.refuse(f"a connection to the socket {_text(address)}")
            return
        parts = cast("tuple[object, ...]", address)
        host, port = str(parts[0]), parts[1] if len(parts) > 1 and isinstance(parts[1], int) else None
        if not self._is_named(host, port):
            raise self._replaying.refuse(f"a connection to {host}:{port}")

    def resolve(self, host: object, port: object = None) -> None:
        if host is None or host == "":
            return
        name = _text(host) if isinstance(host, str | bytes) else str(host)
        if not (_is_address(name) or self._is_named(name, _port(port))):
            raise self._replaying.refuse(f"looking up the host {name}")

    def resolve_back(self, host: object) -> None:
        """Refuse to look up what an address is called; of this machine's own, servers ask as they start."""
        name = str(host)
        if _is_address(name) and not (
            ipaddress.ip_address(name.partition("%")[0]).is_loopback or self._is_named(name, None)
        ):
            raise self._replaying.refuse(f"looking up the address {name}")
        self.resolve(host)

    def start(self, program: object) -> None:
        name = _program(program)
        if name == _ASKED_BY_PLATFORM and _is_asked_by_platform():
            return
        if name not in self._replaying.conditions.processes:
            raise self._replaying.refuse(f"starting the program {name}")

    def goes_on(self, arguments: tuple[Any, ...]) -> bool:
        """Tell whether a process only becomes another Python before its agent began, as launchers do it.

        The new one begins the replay again, by the variables that this one began by.
        """
        variables = self.variables
        if not variables or self._replaying.report.answered or self._replaying.report.results:
            return False
        if not _program(arguments[0]).startswith("python"):
            return False
        given = arguments[2] if len(arguments) > 2 else None
        (given if isinstance(given, dict) else os.environ).update(variables)
        return True

    def fork(self) -> None:
        if "fork" not in self._replaying.conditions.processes:
            raise self._replaying.refuse("a fork of the process")


def _watch_spawns() -> None:
    """Refuse what `multiprocessing` starts as well, of which the interpreter tells no hook."""

    def spawn(original: Any, path: Any, *args: Any) -> Any:
        if _Hook.guard is not None:
            _Hook.guard.start(path)
        return original(path, *args)

    patch(sys.modules[_SPAWNS], "spawnv_passfds", spawn)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    guard = _Hook.guard
    if guard is None:
        return
    if event in _CONNECTS:
        if _family(arguments[0]) != getattr(socket, "AF_NETLINK", None) and arguments[-1] is not None:
            guard.connect(arguments[1])
    elif event in _NAMES:
        guard.resolve(arguments[0], arguments[1] if event == "socket.getaddrinfo" else None)
    elif event in _NAMES_BACK:
        guard.resolve_back(arguments[0][0] if event == "socket.getnameinfo" else arguments[0])
    elif event == "os.exec" and guard.goes_on(arguments):
        return
    elif event in _STARTS:
        guard.start(arguments[0])
    elif event in _FORKS:
        guard.fork()


def _is_asked_by_platform() -> bool:
    module = sys.modules.get("platform")
    frame = sys._getframe(1)
    while module is not None and frame is not None:
        if frame.f_globals is vars(module):
            return True
        back = frame.f_back
        if back is None:
            break
        frame = back
    return False


def _family(sock: Any) -> object:
    return getattr(sock, "family", None)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _port(port: object) -> int | None:
    return port if isinstance(port, int) else int(port) if isinstance(port, str) and port.isdigit() else None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _program(program: object) -> str:
    """Return the name of a program: the first word of a command, without its folder."""
    if isinstance(program, list | tuple):
        program = cast("list[object]", program)[0] if program else ""
    if isinstance(program, os.PathLike):
        program = os.fspath(cast("os.PathLike[str]", program))
    name = _text(program) if isinstance(program, str | bytes) else str(program)
    words = name.split()
    return os.path.basename(words[0]) if words else name
