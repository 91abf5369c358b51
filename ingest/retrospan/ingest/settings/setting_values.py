"""Parsing the text of settings: addresses, sizes, times, counts, paths.

Each function takes the value of a flag, a variable or a TOML key and raises ValueError if it is invalid; the caller
adds its source. Standard library only.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from pathlib import Path

KIB, MIB, GIB = 1024, 1024**2, 1024**3
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kib|mib|gib|kb|mb|gb|k|m|g)?", re.IGNORECASE)
_NAME = re.compile(r"(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
_ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?/?")
_UNITS = {"k": KIB, "m": MIB, "g": GIB}


@dataclass(frozen=True, slots=True)
class Address:
    """A place to listen on. Port 0 lets the system pick one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether a host, without brackets, is this machine's own and nobody else reaches it there.

    It is an address that is written out, or `localhost` where that leads to such addresses only. No other name is:
    whoever answers for it may say something else the next time. Neither is an address in a shortened form, such as
    127.1: what it leads to depends on who reads it.
    """
    if host.lower() == "localhost":  # not casefold: to that, letters of other scripts are equal to these
        try:
            found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
        except OSError:
            return False
        return bool(found) and all(map(_is_loopback_address, found))
    return _is_loopback_address(host)


def _is_loopback_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    # Python before 3.13 does not see that ::ffff:127.0.0.1 is 127.0.0.1.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def parse_address(text: str) -> Address:
    """Read HOST:PORT, [V6]:PORT or :PORT (this machine only)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError("not of the form HOST:PORT, such as 127.0.0.1:4317")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return Address(host or "127.0.0.1", int(port))


def parse_bytes(value: object) -> int:
    """Read a size: a number of bytes, or text such as `64 MiB`."""
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        size = int(float(match[1]) * _UNITS.get((match[2] or "b")[0].lower(), 1))
    else:
        raise ValueError("not a size such as 64 MiB")
    if size < 0:
        raise ValueError("a size cannot be negative")
    return size


def parse_seconds(value: object) -> float:
    """Read a number of seconds."""
    try:
        seconds = float(value) if isinstance(value, str | int | float) else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise ValueError("not a number of seconds")
    return seconds


def parse_count(value: object) -> int:
    """Read a whole number from 1."""
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise ValueError("not a whole number of at least 1")
    return int(text)


def readable(key: str, value: object) -> str:
    """Return a value as people write it, with its unit: `64 MiB`, `60 s`, `no`; '' for none."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes") and isinstance(value, int):
        for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
            if value and not value % size:
                return f"{value // size} {unit}"
    if key.endswith("_seconds"):
        return f"{value:g} s"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def as_address(value: object) -> Address:
    """Read an address, or take the one there is."""
    return value if isinstance(value, Address) else parse_address(str(value))


def parse_flag(value: object) -> bool:
    """Read true or false."""
    if isinstance(value, bool):
        return value
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(value).strip().lower() not in known:
        raise ValueError("not true or false")
    return known[str(value).strip().lower()]


def parse_path(value: object) -> Path:
    """Read a path; `~` is the home directory."""
    if not str(value):
        raise ValueError("empty")
    return Path(str(value)).expanduser()


def parse_host_names(value: object) -> tuple[str, ...]:
    """Read names of this collector: a list, or text with commas. Without ports."""
    return _listed(value, _NAME, "a name such as collector.example or *.svc.cluster.local")


def parse_origins(value: object) -> tuple[str, ...]:
    """Read origins of web pages: a list, or text with commas."""
    found = _listed(value, _ORIGIN, "an origin such as https://app.example")
    return tuple(origin.rstrip("/").casefold() for origin in found)


def _listed(value: object, form: re.Pattern[str], what: str) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    found = tuple(str(part).strip() for part in parts if str(part).strip())
    for part in found:
        if not form.fullmatch(part):
            raise ValueError(f"{part!r} is not {what}")
    return found
