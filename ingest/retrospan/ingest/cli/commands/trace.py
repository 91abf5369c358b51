"""`retrospan trace`: where a thing came from, as a tree of provenance edges."""

from __future__ import annotations

import argparse
from urllib.parse import unquote

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.references import (
    find_reference,
    is_whole,
    short,
    split_step,
    unknown_reference,
)
from retrospan.ingest.cli.client.rows import text_of, whole
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_output_flags, number
from retrospan.ingest.cli.terminal.screen import Part, Style
from retrospan.ingest.cli.terminal.text import cells, counted, cut, safe
from retrospan.ingest.cli.views.reached import (
    add_run_flags,
    chooses,
    groups_reached,
    leading_to,
    show_reached,
)
from retrospan.schemas.references import VERSION_OF, run_ref, step_ref

HELP = Help(
    job="Show where an answer, a step or a value came from; with --down, what it led to.",
    exits="0 answered; with --exit-code 1 if no edge is found; 2 wrong use or trouble",
    examples=(
        "retrospan trace last",
        "retrospan trace last/3 --depth 2",
        "retrospan trace document:kb/policy-7 --down --agent billing --since 7d",
    ),
    sql="SELECT subject, relation, object, evidence FROM provenance(ref = 'step:…/3', depth = 6, direction = 'up')",
    more="stated: by the producer; matched: by id; inferred: from equal content.\n"
    "argument to at items[2].note[120:138]: where the earlier thing holds what the argument has, by characters; one of 3:\n"
    "three earlier things hold it. A document is document:STORE/ID@HASH; document:ID stands for all of its versions.\n"
    "--down begins with the runs that were reached, if there are several, by version of agent and service.",
)
#: The view cuts what was said to this many characters.
VIEW_CUTS_AT = 120
_EVIDENCE: dict[str, Style] = {"stated": "green", "matched": "green", "inferred": "yellow"}


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument(
        "ref",
        metavar="REF",
        help="a run, RUN/N (its step N), or a reference kind:id as this command prints it",
    )
    parser.flags.add_argument(
        "--depth", type=number(1, 100), default=8, metavar="N", help="follow at most N edges (8)"
    )
    parser.flags.add_argument(
        "--down", action="store_true", help="what it led to, instead of where it came from"
    )
    add_run_flags(parser)
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if no edge is found")
    add_output_flags(parser, pager=True)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)

    def about(ref: str) -> Asked:
        direction = "down" if arguments.down else "up"
        return "trace", {"ref": ref, "depth": arguments.depth, "direction": direction}

    run, step = split_step(arguments.ref)
    if is_whole(run) and not arguments.sql:
        session.ask_ahead(about(run_ref(run) if step is None else step_ref(run, step)))
    ref = find_reference(session, arguments.ref)
    question, parameters = about(ref)
    if arguments.sql:
        return session.print_sql((question, parameters))
    rows = session.ask(question, **parameters)
    if not rows:
        raise unknown_reference(session, arguments.ref, ref)
    groups = groups_reached(session, rows) if arguments.down or chooses(arguments) else []
    if chooses(arguments):
        rows = leading_to(rows, groups, down=arguments.down)
    edges = [row for row in rows if row["depth"] != 0]
    none_found = 1 if arguments.exit_code and not edges else 0
    if arguments.json:
        session.print_json(rows)
        return none_found
    with session.screen.paged():
        if chooses(arguments) or sum(whole(group, "runs") or 0 for group in groups) > 1:
            show_reached(session, groups)
        ProvenanceTree(session, rows, arguments.down).show()
    if not edges and chooses(arguments):
        session.screen.note(
            "None of the edges leads to runs that are asked for; without the filters there may be others."
        )
    elif not edges:
        what = "came of it" if arguments.down else "it came from"
        session.screen.note(f"Nothing recorded says what {what}: no provenance edge leads on.")
    cut_off = sum(1 for row in rows if row["truncated"])
    if cut_off:
        session.screen.note(
            (
                f"{counted(cut_off, 'branch', 'branches')} went deeper than shown: --depth {arguments.depth * 2}",
                "yellow",
            )
        )
    return none_found


def shown(ref: str) -> str:
    """Return a reference with its long ids cut to what other commands accept."""
    kind, _, rest = ref.partition(":")
    if kind == "step":
        run_id, _, step = rest.rpartition("/")
        return f"{short(unquote(run_id))}/{step}"
    if kind == "run":
        return f"run {short(unquote(rest))}"
    if kind == "message":
        return f"message:{short(rest)}"
    return ref


def _taken(row: Row) -> str:
    """Return what was taken of the earlier thing, and where it stands there, if the edge says."""
    role, place = text_of(row, "role"), text_of(row, "place")
    if not place and role != VERSION_OF:
        return ""
    return f"{safe(role or '')}{' at ' if role and place else ''}{safe(place or '')}; "


class ProvenanceTree:
    """Draws edges as a tree: each thing is expanded once, where the walk reached it first.

    The rows of depth 0 say where the walk starts; a run starts at its answer.
    """

    def __init__(self, session: Session, rows: list[Row], down: bool) -> None:
        self._session = session
        self._starts = [row for row in rows if row["depth"] == 0]
        near, self._far = ("object", "subject") if down else ("subject", "object")
        self._edges: dict[str, list[Row]] = {}
        origins = {row[near] for row in rows if row["depth"] != 0}
        for row in rows:
            # What a document is called without its version says nothing new, unless it leads on.
            leads_on = down or row["truncated"] or row["role"] != VERSION_OF or row[self._far] in origins
            if row["depth"] != 0 and leads_on:
                self._edges.setdefault(str(row[near]), []).append(row)
        for edges in self._edges.values():
            edges.sort(key=lambda row: (self._made_in(str(row[self._far])), str(row[self._far])))
        self._first: dict[str, int] = {str(row["object"]): id(row) for row in self._starts}
        for row in sorted(rows, key=lambda row: whole(row, "depth") or 0):
            self._first.setdefault(str(row[self._far]), id(row))

    def _made_in(self, ref: str) -> int:
        """Return the step that made a thing, as far as the rows tell; what nobody made comes first."""
        kind, _, rest = ref.partition(":")
        if kind == "step":
            number = rest.rpartition("/")[2]
            return int(number) if number.isdigit() else 0
        made = [row for row in self._edges.get(ref, []) if row["relation"] == "wasGeneratedBy"]
        return (whole(made[0], "step") or 0) if made else 0

    def show(self) -> None:
        for start in self._starts:
            ref, asked = str(start["object"]), str(start["subject"])
            lead = "" if asked == ref else f"{shown(asked)}: its answer, "
            taken = cells(safe(lead + shown(ref))) + 2
            self._session.screen.line(lead, (shown(ref), "cyan"), *self._label(start, taken))
            self._branches(ref)

    def _branches(self, ref: str) -> None:
        """Depth first, with a stack of its own: chains may be longer than Python's."""
        stack = self._children(ref, "")
        while stack:
            row, repeats, indent, is_last = stack.pop()
            branch = indent + ("└─ " if is_last else "├─ ")
            inner = indent + ("   " if is_last else "│  ")
            if repeats:
                things = counted(repeats, "thing")
                self._session.screen.line(
                    (branch, "dim"), (f"{row['relation']} {things} shown elsewhere", "dim")
                )
                continue
            self._line(row, branch)
            if self._first[str(row[self._far])] == id(row):
                stack += self._children(str(row[self._far]), inner)

    def _children(self, ref: str, indent: str) -> list[tuple[Row, int, str, bool]]:
        """Return what to draw below a thing, last first: new things, then a count of those drawn elsewhere."""
        edges = self._edges.get(ref, [])
        children = [(row, 0) for row in edges if self._first[str(row[self._far])] == id(row)]
        for relation in dict.fromkeys(str(row["relation"]) for row in edges):
            again = [
                row
                for row in edges
                if row["relation"] == relation and self._first[str(row[self._far])] != id(row)
            ]
            if len(again) == 1 and not str(again[0][self._far]).startswith("message:"):
                children.append((again[0], 0))
            elif again:
                children.append((again[0], len(again)))
        last = len(children) - 1
        drawn = [(row, repeats, indent, place == last) for place, (row, repeats) in enumerate(children)]
        return drawn[::-1]

    def _label(self, row: Row, taken: int) -> list[Part]:
        label = (text_of(row, "label") or "").rstrip()
        if len(label) >= VIEW_CUTS_AT:
            label += self._session.screen.mark
        width = self._session.screen.width
        room = None if width is None else width - taken
        if not label or (room is not None and room < 20):
            return []
        return ["  ", cut(safe(label), room, self._session.screen.mark)]

    def _line(self, row: Row, branch: str) -> None:
        far, evidence = str(row[self._far]), str(row["evidence"])
        tail = f"  ({_taken(row)}{evidence})" + ("  … goes on" if row["truncated"] else "")
        taken = cells(safe(f"{branch}{row['relation']} {shown(far)}{tail}")) + 2
        self._session.screen.line(
            (branch, "dim"),
            (f"{row['relation']} ", "dim"),
            (shown(far), "cyan"),
            *self._label(row, taken),
            (tail, _EVIDENCE.get(evidence, "")),
        )
