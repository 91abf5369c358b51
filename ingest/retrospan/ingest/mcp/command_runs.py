"""Runs a command of `retrospan` in a process of its own: the answers of two callers never share memory, and a token is
only in the environment of the process that may use it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import ByteReceiveStream, Process

from retrospan.queries.credentials import SOURCE, TOKEN

#: Seconds that one command may take, and bytes of what it prints that are kept.
SECONDS, MOST_BYTES = 180.0, 8 << 20
#: What a client of MCP knows of its token: the variable is none of its own.
_HEADER = "the header Authorization: Bearer of the request"
#: Commands that run at a time.
AT_A_TIME = 4


@dataclass(frozen=True, slots=True)
class CommandRun:
    """What a command printed, and how it ended. `is_whole`: all that it printed is here."""

    code: int
    output: str
    explained: str
    is_whole: bool


class CommandRuns:
    """Runs commands, a few at a time."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """`environ` is what commands find in their environment; by default what this process has."""
        self._environ = dict(os.environ if environ is None else environ)
        self._places = anyio.CapacityLimiter(AT_A_TIME)

    async def run(self, words: Sequence[str], token: str | None = None) -> CommandRun:
        """Run a command line. `token` is used in place of the one in the environment; '' uses none.

        Raises:
            TimeoutError: it took too long, and was ended.
        """
        environ = {**self._environ, "PYTHONUTF8": "1", "RETROSPAN_PAGER": ""}
        if token is not None:
            environ |= {TOKEN: token, SOURCE: _HEADER}
        command = [sys.executable, "-m", "retrospan.ingest.cli.main", *words]
        async with self._places:
            process = await anyio.open_process(
                command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environ, start_new_session=True
            )
            try:
                with anyio.fail_after(SECONDS):
                    return await _ended(process)
            finally:
                with anyio.CancelScope(shield=True):
                    if process.returncode is None:
                        process.kill()
                        await process.wait()
                    await process.aclose()


async def _ended(process: Process) -> CommandRun:
    assert process.stdout is not None and process.stderr is not None, "both are pipes"
    output, explained, is_whole = bytearray(), bytearray(), False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process.stderr, explained)
        is_whole = await _read(process.stdout, output)
        if not is_whole:
            process.kill()
    code = await process.wait()
    return CommandRun(
        code if is_whole else 0,
        output.decode(errors="backslashreplace"),
        explained.decode(errors="backslashreplace"),
        is_whole,
    )


async def _read(stream: ByteReceiveStream, into: bytearray) -> bool:
    """Read to the end, or until it is too much; whether it was the end."""
    async for piece in stream:
        into += piece
        if len(into) > MOST_BYTES:
            del into[MOST_BYTES:]
            return False
    return True
