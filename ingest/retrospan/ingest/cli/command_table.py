"""The commands by name: their group and job for the top help, and the module that does them."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from retrospan.ingest.cli.terminal.arguments import Help, Parser
from retrospan.schemas.errors import MissingExtra


class Command(NamedTuple):
    """A command in the top help. Its module is imported only when the command is run."""

    group: str
    job: str


COLLECT, ASK, MEND = "collect", "ask", "keep and repair"
COMMANDS = {
    "serve": Command(COLLECT, "run the collector: receive OTLP, keep every span, answer questions"),
    "demo": Command(COLLECT, "replay recorded agent runs into a temporary collector, and ask what happened"),
    "runs": Command(ASK, "list runs, newest first"),
    "why": Command(ASK, "what went wrong first in a run, its cause, and what is to be undone"),
    "show": Command(ASK, "what a run did, step by step; or one step with its full input and output"),
    "state": Command(ASK, "what the agent knew when a step began, at a time, or at the end"),
    "entity": Command(ASK, "what changed on an entity and who changed it, or its state at a time"),
    "trace": Command(ASK, "where an answer, a step or a value came from"),
    "diff": Command(ASK, "where two runs diverge, and why"),
    "find": Command(ASK, "where something was said: in messages, arguments, results and errors"),
    "findings": Command(
        ASK, "what rules found wrong: loops, contradictions, lost context, effects unconfirmed"
    ),
    "loops": Command(ASK, "the same tool called again and again with equal arguments"),
    "cost": Command(ASK, "what models cost, by agent, day, model or tool; and what fills a run's prompts"),
    "drift": Command(ASK, "whether runs behave differently from earlier ones"),
    "sql": Command(ASK, "any read-only SQL over the views"),
    "mcp": Command(ASK, "the same questions as tools for an assistant (Model Context Protocol)"),
    "export": Command(ASK, "a run, a trace or a span as the OTLP that was sent"),
    "bundle": Command(ASK, "runs as one portable file, and what of them can be replayed"),
    "replay": Command(ASK, "run an agent again, each call answered from the record of a run"),
    "fork": Command(ASK, "run an agent as recorded up to a step, and differently from there on"),
    "golden": Command(ASK, "runs that the agent has to do again as they are on record"),
    "bisect": Command(ASK, "for git bisect run: whether the agent still does what a suite of runs says"),
    "flag": Command(MEND, "mark a run as worth keeping"),
    "hold": Command(MEND, "forbid deleting a run, forever or until a time"),
    "retention": Command(MEND, "show what the policy would delete, or delete it"),
    "verify": Command(MEND, "compare stored data with its hashes"),
    "rebuild": Command(MEND, "derive all rows from the log again"),
    "alerts": Command(MEND, "which alert rules there are, and whether they and their targets work"),
    "rules": Command(MEND, "what mutation rules would find in the stored tool calls"),
    "spool": Command(MEND, "deliver what an agent that died left in its spool"),
    "migrate": Command(MEND, "migrate tables and views to this release"),
    "doctor": Command(MEND, "what is wrong here, or what a run's instrumentation leaves out"),
    "torture": Command(MEND, "kill a collector repeatedly, and check what it kept"),
    "completion": Command(MEND, "a completion script for bash, zsh or fish"),
}


#: Modules of commands that are not in `cli/commands`. The last is a distribution of its own.
_ELSEWHERE = {
    "demo": "retrospan.ingest.demo.command",
    "mcp": "retrospan.ingest.mcp.command",
    "torture": "retrospan.torture.command",
}


class Module(Protocol):
    """What a command's module offers."""

    HELP: Help

    def add_arguments(self, parser: Parser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def module_of(name: str) -> Module:
    """Import the module of a command, which is in `cli/commands`, or beside what it runs.

    Raises:
        MissingExtra: it is not installed.
    """
    place = _ELSEWHERE.get(name, f"retrospan.ingest.cli.commands.{name}")
    try:
        return cast(Module, import_module(place))
    except ModuleNotFoundError as error:
        if name == "torture" and place.startswith(str(error.name)):
            raise MissingExtra("torture", module="the command torture") from error
        raise


def parser_of(name: str) -> Parser:
    """Return the parser of a command, with its flags."""
    module = module_of(name)
    parser = Parser(name, module.HELP)
    module.add_arguments(parser)
    parser.close()
    return parser
