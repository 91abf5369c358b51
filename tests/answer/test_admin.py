"""Commands that change the warehouse: one at a time, after what the collector does by itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping

from retrospan.ingest.answer.admin import Admin, Report
from retrospan.ingest.http.messages import Request, Response


def _admin(may_end: threading.Event) -> Admin:
    """With a command that lasts until it may end."""

    def change(arguments: Mapping[str, object], report: Report) -> None:
        may_end.wait()

    return Admin({"change": change})


def _ask(admin: Admin) -> Response:
    return admin.answer(Request("POST", "/admin/v1/change", {}, {}, b"{}", overlong=False), "change")


def _lines(answer: Response) -> list[object]:
    assert isinstance(answer.stream, Iterable)
    return [json.loads(line) for line in answer.stream]


def test_a_second_command_is_refused_while_one_runs() -> None:
    may_end = threading.Event()
    admin = _admin(may_end)
    first = _ask(admin)
    assert _ask(admin).status == 409
    may_end.set()
    assert _lines(first) == [{"done": True}]
    assert _lines(_ask(admin)) == [{"done": True}]


def test_a_command_waits_for_what_the_collector_does_by_itself() -> None:
    changed: list[str] = []
    admin = Admin({"change": lambda arguments, report: changed.append("asked")})
    with admin.alone() as alone:
        assert alone
        answer = _ask(admin)
        assert answer.status == 200 and isinstance(answer.stream, Iterable)
        first = json.loads(next(iter(answer.stream)))
        assert "waiting" in first["phase"] and changed == []
        changed.append("by itself")
    assert _lines(answer) == [{"done": True}] and changed == ["by itself", "asked"]


def test_the_collector_keeps_away_from_a_running_command() -> None:
    may_end = threading.Event()
    admin = _admin(may_end)
    answer = _ask(admin)
    kept_away = False
    while not kept_away:  # the command starts in a thread of its own
        with admin.alone() as alone:
            kept_away = not alone
    may_end.set()
    assert _lines(answer) == [{"done": True}]
    with admin.alone() as alone:
        assert alone
