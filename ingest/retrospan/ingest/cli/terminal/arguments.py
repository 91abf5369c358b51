"""Reading command lines: help that fits one screen, and errors that name the nearest flag.

Every command describes itself with a `Command`; `Parser` lays its help out as: the job in one sentence, usage,
arguments, flags, exit codes, examples, the same in SQL.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from retrospan.ingest.cli.terminal.moments import TIME_HELP, Moment, parse_time
from retrospan.ingest.cli.terminal.text import nearest
from retrospan.schemas.errors import PermanentError

RUN_HELP = "run id, a prefix of 4 or more characters, or 'last'"
_EMPTY = "is empty"
#: What many programs call the address that a command asks; here it is a variable.
_OF_COLLECTOR = ("--url", "--server", "--host", "--port", "--address")
ANSWERED = "0 answered, 2 wrong use or trouble"


class UsageError(PermanentError):
    """The command line cannot be understood; `command` is the one whose help would."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


class Help(NamedTuple):
    """What the help of a command says beside its flags."""

    job: str
    exits: str = ANSWERED
    examples: tuple[str, ...] = ()
    sql: str = ""
    more: str = ""


class _Layout(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=98)


class Parser(argparse.ArgumentParser):
    """Parses one command. Never abbreviates flags, never exits: mistakes raise UsageError."""

    def __init__(self, command: str, help: Help) -> None:
        super().__init__(
            prog=f"retrospan {command}",
            add_help=False,
            allow_abbrev=False,
            formatter_class=_Layout,
            exit_on_error=False,
        )
        self._command = command
        self._text = help
        #: Whether what stands behind `--` is a command of somebody else's: then it is `command`, word by word.
        self.runs_a_command = False
        self.inputs = self.add_argument_group("")
        self.flags = self.add_argument_group("flags")
        self.output = self.add_argument_group("output")

    def close(self) -> None:
        """Add the flags that end every help text; to be called when the command has added its own."""
        self.output.add_argument("--debug", action="store_true", help="show the traceback of an error")
        self.output.add_argument("-h", "--help", action="store_true", help="show this help")

    def flag_names(self) -> list[str]:
        """Every flag of the command, short and long."""
        return [flag for action in self._actions for flag in action.option_strings]

    def error(self, message: str) -> NoReturn:
        raise UsageError(self._worded(message), self._command)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the parsed words. Raises UsageError."""
        if any(word in ("-h", "--help") for word in before_dashes(words)):
            return argparse.Namespace(help=True, debug=False)
        before = before_dashes(words) if self.runs_a_command else words
        try:
            parsed, unknown = self.parse_known_args(list(before))
        except argparse.ArgumentError as error:
            self.error(str(error))
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        if self.runs_a_command:
            parsed.command = [*words[len(before) + 1 :]]
        return parsed

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> object:
        """Return what was typed for a flag as its type has it.

        An empty value is refused, for every flag: it is what a variable of a script gives that was not set, and the
        command would do for everything what was meant for one thing.
        """
        if action.option_strings and any(not text.strip() for text in arg_strings):
            raise argparse.ArgumentError(action, _EMPTY)
        found: object = super()._get_values(action, arg_strings)
        return found

    def _worded(self, message: str) -> str:
        if message.startswith("unrecognized arguments: "):
            word = message.removeprefix("unrecognized arguments: ").split(" ")[0]
            if not word.startswith("-"):
                return f"'{word}' is one argument too many."
            flag = word.split("=")[0]
            if flag in _OF_COLLECTOR and self.prog != "retrospan serve":
                return f"unknown flag '{flag}'. Set RETROSPAN_URL to the collector that is to be asked."
            meant = nearest(flag, [known for known in self.flag_names() if len(known) > 2])
            return f"unknown flag '{word}'." + (f" Did you mean '{meant}'?" if meant else "")
        missing = re.match(r"the following arguments are required: (.*)", message)
        if missing:
            return f"{missing[1]} is missing."
        choice = re.match(r"argument (.*?): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice:
            known = [name.strip(" '") for name in choice[3].split(",")]
            meant = nearest(choice[2], known)
            return f"{choice[1]}: '{choice[2]}' is not one of {', '.join(known)}." + (
                f" Did you mean '{meant}'?" if meant else ""
            )
        value = re.match(r"argument (.*?): (.*)", message)
        if value and value[2] == _EMPTY:
            return f"{value[1]} is empty."
        return f"{value[1]}: {value[2]}." if value else message

    def format_help(self) -> str:
        layout = self._get_formatter()
        for group in (self.inputs, self.flags, self.output):
            if group._group_actions:
                layout.start_section(None if group is self.inputs else group.title)
                layout.add_arguments(group._group_actions)
                layout.end_section()
        text = self._text
        inputs = [str(action.metavar) for action in self.inputs._group_actions]
        # What is run by a command stands behind its flags.
        at = next((place for place, name in enumerate(inputs) if name.startswith(("--", "[--"))), len(inputs))
        parts = [text.job, "", " ".join(["usage:", self.prog, *inputs[:at], "[FLAGS]", *inputs[at:]]), ""]
        parts += [layout.format_help().rstrip(), ""]
        if text.more:
            parts += [text.more, ""]
        parts.append(f"exit: {text.exits}")
        parts += [f"  {example}" for example in text.examples]
        if text.sql:
            parts += [f"the same in SQL: {text.sql}"]
        return "\n".join(parts) + "\n"


def before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def add_output_flags(parser: Parser, *, pager: bool = False) -> None:
    """Add the flags that every question has."""
    parser.output.add_argument(
        "--json", action="store_true", help="one JSON object per line, keyed by the view's columns"
    )
    parser.output.add_argument("--sql", action="store_true", help="print the SQL instead of running it")
    parser.output.add_argument("--wide", action="store_true", help="do not cut lines to the terminal's width")
    parser.output.add_argument(
        "--utc", action="store_true", help="show times in UTC instead of the local zone"
    )
    if pager:
        parser.output.add_argument(
            "--no-pager", action="store_true", help="do not page (RETROSPAN_PAGER, PAGER)"
        )
    add_color_flag(parser)


def add_color_flag(parser: Parser) -> None:
    parser.output.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", metavar="WHEN",
        help="auto, always or never (NO_COLOR, FORCE_COLOR)",
    )  # fmt: skip


def add_since_flag(parser: Parser) -> None:
    parser.flags.add_argument(
        "--since", type=moment, metavar="TIME", help=f"only what started at or after TIME: {TIME_HELP}"
    )


def moment(text: str) -> Moment:
    """Read a TIME of the command line, as an argparse type."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def number(least: int, most: int = 4_294_967_295) -> _Number:
    """Return an argparse type: a whole number within the bounds."""
    return _Number(least, most)


class _Number:
    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most

    def __call__(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = self.least - 1
        if not self.least <= value <= self.most:
            bounds = (
                f"of {self.least} or more"
                if self.most == 4_294_967_295
                else f"from {self.least} to {self.most}"
            )
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number {bounds}")
        return value
