"""`retrospan`: finds the command, runs it, and turns what went wrong into one message and an exit code.

Exit: 0 answered, 1 the answer is "no" where that is the question, 2 wrong use or trouble, 130 Ctrl-C, 141 the
reader of a pipe went away; of `bisect` 125 instead of 2. Nothing but the standard library is imported here or by a question.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from retrospan.ingest.cli.command_table import COMMANDS, module_of, parser_of
from retrospan.ingest.cli.terminal.arguments import UsageError, before_dashes
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.text import nearest
from retrospan.schemas.errors import MissingExtra, RetrospanError

ANSWERED, TROUBLE, INTERRUPTED, PIPE_CLOSED = 0, 2, 130, 141
#: `git bisect run` takes 2 for a bad commit, and this for one that cannot be tested.
TROUBLE_OF_BISECT = 125
JOB = "What AI agents did, what they knew, where an answer came from, and why two runs diverge."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; return its exit code. Never raises for what the user or the world did."""
    _open_closed_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    if [word for word in words if word != "--debug"][:1] != ["bisect"]:
        return _answer(words)
    try:
        code = _answer(words)
    except (RetrospanError, UsageError, OSError) as error:
        # With --debug. Python's own exit code is 1, by which git would call the commit bad.
        sys.excepthook(type(error), error, error.__traceback__)
        return TROUBLE_OF_BISECT
    return TROUBLE_OF_BISECT if code == TROUBLE else code


def _open_closed_streams() -> None:
    """Let a standard stream that was closed lead nowhere: else the next file or connection would have its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _answer(words: list[str]) -> int:
    debug = "--debug" in before_dashes(words)
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    except UsageError as error:
        if debug:
            raise
        return _trouble(f"{error}\nsee: retrospan {error.command} --help".replace("  ", " "))
    except (RetrospanError, OSError) as error:
        if debug:
            raise
        return _trouble(_worded(error))
    except Exception as error:
        if debug:
            raise
        missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if missing not in ("", "retrospan"):
            absent = MissingExtra(_extra_of(missing, words), module=missing)
            command = next((word for word in words if not word.startswith("-")), "retrospan")
            return _trouble(f"{command} needs a part that is not here: {absent}")
        return _trouble(
            f"this is a defect of retrospan: {type(error).__name__}: {error}\n"
            "Run the same command with --debug and report what it prints."
        )
    return code


def _extra_of(module: str, words: Sequence[str]) -> str:
    """Return the extra that brings a module: with a server named, ClickHouse need not be brought along."""
    if module in ("polars", "pandas", "pyarrow"):
        return "frames"
    if words[:1] == ["mcp"]:
        return "mcp"
    named = (
        any(word.partition("=")[0] == "--warehouse" for word in words) or "RETROSPAN_WAREHOUSE" in os.environ
    )
    return "server" if named else "embedded"


def _run(words: list[str]) -> int:
    while words and words[0] == "--debug":
        words.pop(0)
    if not words:
        # Imported here: no other command needs to look for what is installed.
        from retrospan.ingest.cli.terminal.welcome import welcome

        sys.stdout.write(f"{top_help()}\n{welcome()}")
        return ANSWERED
    if words[0] in ("-h", "--help", "help"):
        if len(words) > 1 and words[0] == "help":
            return _run([words[1], "--help"])
        sys.stdout.write(top_help())
        return ANSWERED
    if words[0] in ("-V", "--version"):
        # Imported here: no other command asks.
        from retrospan.ingest.compiled import is_compiled

        sys.stdout.write(f"retrospan {version()}{' (compiled)' if is_compiled() else ''}\n")
        return ANSWERED
    name = words[0]
    if name not in COMMANDS:
        raise UsageError(_no_command(name), "")
    parser = parser_of(name)
    arguments = parser.read(words[1:])
    if arguments.help:
        sys.stdout.write(parser.format_help())
        return ANSWERED
    return module_of(name).run(arguments)


def _no_command(name: str) -> str:
    if name.startswith("-"):
        meant = nearest(name, ["--help", "--version", "--debug"])
        flag = (
            f" Did you mean '{meant}'?" if meant else " Flags follow the command: retrospan COMMAND --flag."
        )
        return f"unknown flag '{name}'.{flag}"
    meant = nearest(name, list(COMMANDS))
    known = f" Did you mean '{meant}'?" if meant else f" Commands: {', '.join(COMMANDS)}."
    return f"there is no command '{name}'.{known}"


def top_help() -> str:
    """Return the help of `retrospan` alone: the commands by group."""
    lines = [JOB, "", "usage: retrospan COMMAND [ARGUMENTS]", ""]
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        lines.append(f"{group}:")
        lines += [
            f"  {name:<11} {command.job}" for name, command in COMMANDS.items() if command.group == group
        ]
        lines.append("")
    lines += [
        "RUN is a run id, a prefix of 4 or more characters, or 'last'; RUN/N is its step N.",
        "Commands query the collector at RETROSPAN_URL (http://127.0.0.1:8123).",
        "",
        "  retrospan demo                  see it work in seconds, without a key or network",
        "  retrospan COMMAND --help        flags, exit codes and examples of a command",
    ]
    return "\n".join(lines) + "\n"


def version() -> str:
    """Return the installed release."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("retrospan")
    except PackageNotFoundError:
        return "(not installed)"


def _worded(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    # Imported here: a command that goes well does not need it.
    from retrospan.ingest.machine.system_errors import worded

    return worded(error)


def _trouble(message: str) -> int:
    try:
        Screen.open().error(message)
    except BrokenPipeError:
        return _pipe_closed()
    return TROUBLE


def _pipe_closed() -> int:
    """Leaves quietly; the interpreter must not complain about the closed stream at exit either."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError):
        pass
    return PIPE_CLOSED


if __name__ == "__main__":
    sys.exit(main())
