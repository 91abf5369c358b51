"""`retrospan completion`: a script that completes commands and flags in a shell."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.command_table import COMMANDS, parser_of
from retrospan.ingest.cli.terminal.arguments import Help, Parser
from retrospan.schemas.errors import MissingExtra

HELP = Help(
    job="Print a script that completes commands and flags in bash, zsh or fish.",
    exits="0 printed, 2 wrong use",
    examples=(
        'eval "$(retrospan completion bash)"',
        "retrospan completion fish > ~/.config/fish/completions/retrospan.fish",
    ),
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument(
        "shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"
    )


def run(arguments: argparse.Namespace) -> int:
    flags = {name: flags_of(name) for name in COMMANDS}
    print(_fish(flags) if arguments.shell == "fish" else _bash(flags, zsh=arguments.shell == "zsh"))
    return 0


def flags_of(command: str) -> list[str]:
    """Return the long flags of a command; none of one that is not installed."""
    try:
        parser = parser_of(command)
    except MissingExtra:
        return []
    return sorted(flag for flag in parser.flag_names() if flag.startswith("--"))


def _bash(flags: dict[str, list[str]], *, zsh: bool) -> str:
    lines = ["autoload -U +X bashcompinit && bashcompinit"] if zsh else []
    lines += [
        "_retrospan() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}"',
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f"    COMPREPLY=($(compgen -W '{' '.join(flags)}' -- \"$word\"))",
        "    return",
        "  fi",
        '  case "${COMP_WORDS[1]}" in',
        *(
            f"    {name}) COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$word\")) ;;"
            for name, words in flags.items()
        ),
        "  esac",
        "}",
        "complete -o default -F _retrospan retrospan",
    ]
    return "\n".join(lines)


def _fish(flags: dict[str, list[str]]) -> str:
    lines = ["complete -c retrospan -f"]
    for name, words in flags.items():
        lines.append(f"complete -c retrospan -n __fish_use_subcommand -a {name} -d '{COMMANDS[name].job}'")
        lines += [
            f"complete -c retrospan -n '__fish_seen_subcommand_from {name}' -l {word[2:]}" for word in words
        ]
    return "\n".join(lines)
