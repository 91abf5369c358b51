"""The two sides of one difference: the smallest places that differ, A above B."""

from __future__ import annotations

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.references import step_address
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.screen import Part, Style
from retrospan.ingest.cli.terminal.text import cells, fitted, safe
from retrospan.ingest.cli.terminal.values import MISSING, brief, differing_paths, parse

INDENT = 10
MOST_PATHS = 8
#: Characters shown of an equal beginning that is left out.
CONTEXT = 16
#: The view run_diff cuts values to this many characters.
VIEW_CUTS_AT = 500


def show_sides(session: Session, row: Row, run_ids: dict[str, str]) -> None:
    """Write what differs in one aspect of one position; a value of one run only in one line."""
    aspect = str(row["aspect"]) + (f" {row['detail']}" if row["detail"] not in ("", "order") else "")
    if row["change"] in ("only_a", "only_b"):
        side = "A" if row["change"] == "only_a" else "B"
        if row[f"value_{side.lower()}"]:
            _line(session, aspect, side, _said(row, side))
    else:
        a, b = parse(row["value_a"]), parse(row["value_b"])
        if row["aspect"] == "state" and isinstance(a, str):
            # Too long for the view to hold it whole: the states themselves show more than their beginnings.
            shown = " · ".join(
                f"retrospan state {step_address(run_id, row[f'step_{side.lower()}'])}"
                for side, run_id in run_ids.items()
            )
            session.screen.line(" " * INDENT, (f"{aspect}  differ: {shown}", "dim"))
            return
        if isinstance(a, dict | list) and type(a) is type(b):
            _show_places(session, aspect, a, b)
        else:
            _pair(session, aspect, _said(row, "A"), _said(row, "B"))
    for side, run_id in run_ids.items():
        if len(str(row[f"value_{side.lower()}"] or "")) >= VIEW_CUTS_AT:
            address = step_address(run_id, row[f"step_{side.lower()}"])
            session.screen.line(
                " " * INDENT,
                (f"{side} is cut at {VIEW_CUTS_AT} characters: retrospan show {address} --full", "dim"),
            )


def _show_places(session: Session, aspect: str, a: object, b: object) -> None:
    places = differing_paths(a, b)
    shown = places if session.arguments.full or session.screen.width is None else places[:MOST_PATHS]
    for path, one, other in shown:
        _pair(session, f"{aspect} {path}".strip(), _value(one), _value(other))
    if len(shown) < len(places):
        session.screen.line(" " * INDENT, (f"(+{len(places) - len(shown)} more places; --full)", "dim"))


def from_first_difference(a: str, b: str, room: int, mark: str) -> tuple[str, str]:
    """Both texts without their long common beginning, when what differs would not be seen in `room` characters."""
    if max(len(a), len(b)) <= room:
        return a, b
    same = next(
        (i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b))
    )
    if same <= room // 2:
        return a, b
    start = same - CONTEXT
    return mark + a[start:], mark + b[start:]


def _value(value: object) -> str:
    return "not set" if value is MISSING else brief(value)


def _said(row: Row, side: str) -> str:
    value = row[f"value_{side.lower()}"]
    return "-" if value is None else str(value)


def _pair(session: Session, label: str, a: str, b: str) -> None:
    width = session.screen.width
    if width is not None and not session.arguments.full:
        a, b = from_first_difference(a, b, width - INDENT - 20, session.screen.mark)
    _line(session, label, "A", a)
    _line(session, "", "B", b, cells(safe(label)))


def _line(session: Session, label: str, side: str, value: str, blank: int = 0) -> None:
    name = label + " " * max(0, max(16, blank) - cells(safe(label)))
    style: Style = "red" if side == "A" else "green"
    lead: list[Part] = [" " * INDENT, (name, "dim"), " ", (side, style), " "]
    width = session.screen.width
    room = (
        None if width is None or session.arguments.full else max(width - INDENT - cells(safe(name)) - 3, 16)
    )
    session.screen.line(*lead, fitted(value, room, session.screen.mark))
