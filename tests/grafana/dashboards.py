"""The dashboards as Grafana reads them, and their queries as its ClickHouse data source sends them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "helm" / "retrospan" / "dashboards"

#: What a panel is shown for: milliseconds since 1970, and the width of a bar in seconds.
FROM_MS, TO_MS, INTERVAL_SECONDS = 1_767_225_600_000, 4_070_908_800_000, 60
ALL: Mapping[str, Sequence[str]] = {}
#: What the data source writes for a macro; \1 is its column.
_MACROS = {
    "timeFilter_ms": rf"\1 >= fromUnixTimestamp64Milli({FROM_MS}) AND \1 <= fromUnixTimestamp64Milli({TO_MS})",
    "timeInterval": rf"toStartOfInterval(toDateTime(\1), INTERVAL {INTERVAL_SECONDS} second)",
}


@dataclass(frozen=True)
class Panel:
    """One query of one panel."""

    dashboard: str
    title: str
    sql: str
    is_series: bool

    @property
    def name(self) -> str:
        return f"{self.dashboard}: {self.title}"


@cache
def dashboards() -> dict[str, Any]:
    """Every dashboard by the name of its file."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}


def panels() -> list[Panel]:
    """Every query of every panel."""
    return [
        Panel(name, panel["title"], target["rawSql"], target["format"] == 0)
        for name, dashboard in dashboards().items()
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]


def variables() -> dict[tuple[str, str], str]:
    """The queries that fill the dashboards' menus, by dashboard and variable."""
    return {
        (name, variable["name"]): variable["query"]
        for name, dashboard in dashboards().items()
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "query"
    }


def expand(sql: str, chosen: Mapping[str, Sequence[str]] = ALL) -> str:
    """What the data source sends for a query. `chosen` has the values of a variable; without any, All is chosen."""
    sql = "".join(_conditions(sql, chosen))
    chosen = {**_texts(), **chosen}
    sql = re.sub(r"\$\{(\w+):singlequote\}", lambda found: _quoted(chosen.get(found[1], ())), sql)
    for name, milliseconds in (("from", FROM_MS), ("to", TO_MS)):
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
        sql = sql.replace(f"${{__{name}:date:iso}}", moment.replace("+00:00", "Z"))
    for name, form in _MACROS.items():
        sql = re.sub(rf"\$__{name}\((\w+)\)", form, sql)
    assert "$" not in sql, f"not expanded: {sql[sql.index('$') :][:60]}"
    return sql


def _texts() -> dict[str, list[str]]:
    """What stands in the fields for text before anybody wrote there."""
    return {
        variable["name"]: [variable["query"]]
        for dashboard in dashboards().values()
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "textbox"
    }


def _conditions(sql: str, chosen: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The text, with `$__conditionalAll(condition, $variable)` made the condition, or true for All."""
    opening = "$__conditionalAll("
    while opening in sql:
        before, _, rest = sql.partition(opening)
        depth, end = 1, 0
        while depth:
            depth += {"(": 1, ")": -1}.get(rest[end], 0)
            end += 1
        condition, _, variable = rest[: end - 1].rpartition(",")
        yield before
        yield condition if variable.strip().removeprefix("$") in chosen else "1=1"
        sql = rest[end:]
    yield sql


def _quoted(values: Sequence[str]) -> str:
    """The values as Grafana's format `singlequote` writes them."""
    return ",".join("'" + value.replace("'", "\\'") + "'" for value in values)
