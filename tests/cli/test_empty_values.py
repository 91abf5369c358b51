"""A flag with an empty value, as a script has it whose variable was not set, is refused: it chooses nothing."""

from __future__ import annotations

import argparse

import pytest
from fix_cli import Ask

from retrospan.ingest.cli.command_table import COMMANDS, parser_of
from retrospan.ingest.cli.terminal.arguments import UsageError


def taking_values(command: str) -> list[str]:
    """Return the long flags of a command that take a value."""
    actions = [action for action in parser_of(command)._actions if action.option_strings]
    return [
        action.option_strings[-1]
        for action in actions
        if action.nargs != 0 and not isinstance(action, argparse._StoreTrueAction)
    ]


@pytest.mark.parametrize("value", ["", " ", "\t"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_refuses_an_empty_value(command: str, value: str) -> None:
    for flag in taking_values(command):
        with pytest.raises(UsageError, match=f"^{flag} is empty|^-n.* is empty"):
            parser_of(command).read([f"{flag}={value}"] if flag.startswith("--") else [flag, value])


def test_nothing_is_rebuilt_for_a_run_that_is_not_named(ask: Ask) -> None:
    said = ask("rebuild", "--run", "")
    assert (said.code, said.out) == (2, "") and said.err.startswith("error: --run is empty.\n")
