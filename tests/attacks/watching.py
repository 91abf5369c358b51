"""What a process opened, changed and removed, as strace wrote it down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrospan.ingest.machine.confinement import DEVICES, SYSTEM_PLACES, python_places, python_programs

CALLS = (
    "open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,mkdir,"
    "mkdirat,mknod,mknodat,truncate,chmod,fchmodat,chown,fchownat,execve,execveat,connect,clone,clone3,fork,vfork,"
    "landlock_restrict_self"
)
_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)(<pipe:\[\d+\]>)?")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MADE = re.compile(r"^(\d+) +(?:<\.\.\. )?(clone3?|v?fork)\b.*= (\d+)$")
_BECAME = re.compile(r"^(\d+) +execve\(")
_BELOW = re.compile(r'\d+(<[^">]*>)?, "[^/"]+"')
"""Below a directory that is open already, and so was judged when it was opened."""
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
# Tried by Python, the C library and the engine by themselves, whatever is asked, and in vain where they are confined.
_BY_THEMSELVES = re.compile(
    r"/proc/(self|thread-self|\d+)/(loginuid|io|schedstat|stat|task(/\d+/comm)?|oom_score_adj|mounts)$|"
    r"/etc/(resolv\.conf|hosts|host\.conf|nsswitch\.conf|svc\.conf|netsvc\.conf|gai\.conf|ssl/openssl\.cnf)$|"
    r"/sys/fs/cgroup|/proc/sys/net/core/somaxconn$|/dev/(tty|urandom|null)$|/usr/lib/debug/|__pycache__|"
    r"\.(py|pyc|so)(\.\d+)*$|pybuilddir\.txt$|\._pth$|pyvenv\.cfg$|/(lib|bin)/python[\d.]+(\.zip)?$|(^|/)lib[\w.+-]+\.so"
)


@dataclass(frozen=True, slots=True)
class Touched:
    """One call: what was asked for, whether it was to be written, and whether it was had."""

    call: str
    path: str
    writes: bool
    done: bool


def command(trace: Path) -> list[str]:
    """The words that start a process watched."""
    return [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-qq",
        "-s",
        "4096",
        "-o",
        str(trace),
        "-e",
        f"trace={CALLS}",
    ]


def of_program(lines: Sequence[str], program: str) -> list[str]:
    """The lines of the process that became this program, of its threads and of its children: from where it confined
    itself, if it did. Before that Python starts, and looks up whose home it would be."""
    parents: dict[str, str] = {}
    roots: set[str] = set()
    for line in lines:
        if made := _MADE.match(line):
            parents[made[3]] = made[1]
        elif (became := _BECAME.match(line)) and f'"{program}"' in line:
            roots.add(became[1])

    def is_of(thread: str) -> bool:
        known: set[str] = set()
        while thread not in roots:
            if thread in known or thread not in parents:
                return False
            known.add(thread)
            thread = parents[thread]
        return True

    threads = {line.split(" ", 1)[0] for line in lines}
    wanted = {thread for thread in threads if is_of(thread)}
    own = [line for line in lines if line.split(" ", 1)[0] in wanted]
    begins = next((place for place, line in enumerate(own) if " landlock_restrict_self(" in line), 0)
    return own[begins:]


def touched(lines: Iterable[str]) -> Iterator[Touched]:
    """Each path of each call. Calls that another thread interrupted are put together again."""
    begun: dict[str, str] = {}
    for line in lines:
        thread = line.split(" ", 1)[0]
        if "<unfinished ...>" in line:
            begun[thread] = line.split(" <unfinished", 1)[0]
            continue
        if "resumed>" in line:
            line = begun.pop(thread, "") + line.split("resumed>", 1)[1]
        found = _LINE.match(line)
        if (
            not found
            or found[1].startswith(("connect", "clone", "fork", "vfork", "landlock"))
            or _BELOW.match(found[2])
            or found[4]  # the other end of a pipe of its own: how an answer is streamed
        ):
            continue
        writes = not found[1].startswith(("open", "exec")) or bool(_WRITING.search(found[2]))
        for path in _PATH.findall(found[2].split(", [", 1)[0]):
            yield Touched(found[1], path, writes, int(found[3]) >= 0)


def outside(found: Iterable[Touched], directory: Path, more: Sequence[Path] = ()) -> list[Touched]:
    """What is on no list: read beyond the system's, Python's and the directory's files, or written beyond the last."""
    readable = [str(place) for place in (*SYSTEM_PLACES, *python_places(), *python_programs(), *more)]
    written = [str(place) for place in (directory, *DEVICES)]

    def is_below(path: str, places: Sequence[str]) -> bool:
        return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)

    return [
        each
        for each in set(found)
        if not (is_below(each.path, written) and ".." not in each.path)
        and not _is_relative(each)
        and not (not each.writes and is_below(each.path, readable))
        and not _BY_THEMSELVES.search(each.path)
    ]


def _is_relative(each: Touched) -> bool:
    # Links between the engine's own tables.
    return not each.path.startswith("/") and (each.call.startswith("symlink") or not each.path)
