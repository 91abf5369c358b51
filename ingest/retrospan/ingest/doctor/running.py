"""What a running collector reports about itself on `/health`, check by check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from retrospan.ingest.doctor.finding import Finding, failed, ok, warning
from retrospan.ingest.status.health import LAG_SECONDS, NEARLY_FULL

_SEND = "send OTLP to the ports of its ready line; docs/instrumentation.md shows how"


def check_running(page: Mapping[str, object], url: str) -> Iterator[Finding]:
    """Yield the findings from one page of `/health`."""
    status = str(page.get("status"))
    who = f"release {page['release']} answers at {url}" if page.get("release") else f"answers at {url}"
    if "log_bytes" not in page:
        yield warning(
            "collector",
            f"{who}: {status}; details need a token with the right read, or metrics where there are several tenants",
            "set RETROSPAN_TOKEN to such a token",
        )
        return
    yield ok("collector", who)
    yield from (_disk(page), _log(page), _intake(page), _loading(page), _interpretation(page))
    yield from (_quarantine(page), _tables(page), _migrations(page), _alerts(page))
    if page.get("engine_failure"):
        yield failed(
            "engine", f"does not answer: {page['engine_failure']}", "check memory and disk, then restart"
        )
    else:
        yield ok("engine", f"ClickHouse {page['engine']}")
    if page.get("confinement"):
        yield _confinement(str(page["confinement"]))


def _disk(page: Mapping[str, object]) -> Finding:
    free, low = _whole(page, "disk_free_bytes"), _whole(page, "low_water_bytes")
    said = f"{free / 1e9:,.1f} GB free in {page['data']}"
    if free < low:
        return failed(
            "disk",
            f"{said}; nothing is accepted below {low / 1e9:,.1f} GB",
            "free some space, or lower limits.low_water_bytes",
        )
    if free < 2 * low:
        return warning("disk", f"{said}; nothing is accepted below {low / 1e9:,.1f} GB", "free some space")
    return ok("disk", said)


def _log(page: Mapping[str, object]) -> Finding:
    used, limit = _whole(page, "log_bytes"), _whole(page, "log_limit_bytes")
    said = f"{used / 1e9:,.2f} of {limit / 1e9:,.1f} GB, {_whole(page, 'durable_sequence'):,} records"
    if page["log_failure"]:
        return failed(
            "log",
            f"nothing is accepted: {page['log_failure']}",
            "check the disk, then restart the collector",
        )
    if limit and used >= limit:
        return failed("log", f"{said}: nothing is accepted", "raise limits.log_bytes")
    lost, damaged = _whole(page, "recovery_lost_records"), _whole(page, "recovery_damaged_bytes")
    cut = _whole(page, "recovery_cut_bytes")
    if lost or damaged:
        return warning(
            "log",
            f"{said}; {damaged:,} bytes are damaged and {lost:,} records lost: {page.get('recovery_reason') or ''}",
            "check the disk, and put these files back from a backup",
        )
    if cut:
        return warning(
            "log",
            f"{said}; {cut:,} bytes were cut off its end at the start",
            "nothing to do if the machine or the collector was killed: these bytes were never acknowledged",
        )
    if limit and used > NEARLY_FULL * limit:
        return warning("log", f"{said}: nearly full", "raise limits.log_bytes")
    return ok("log", said)


def _intake(page: Mapping[str, object]) -> Finding:
    requests, refused = _whole(page, "requests"), _whole(page, "requests_refused")
    turned_away, rejects = _whole(page, "requests_turned_away"), _whole(page, "rejects")
    if turned_away and requests <= refused:
        return failed(
            "intake",
            f"{turned_away:,} requests were refused for their token, none was accepted",
            "docs/access.md shows what exporters must send",
        )
    if not requests and not _whole(page, "durable_sequence"):
        return warning("intake", "nothing was ever received", _SEND)
    said = f"{requests:,} requests since the start"
    if refused or rejects or turned_away:
        return warning(
            "intake",
            f"{said}: {refused:,} refused, {turned_away:,} turned away, {rejects:,} spans or requests rejected",
            'retrospan sql "SELECT reason, sum(spans) FROM rejects GROUP BY reason"',
        )
    return ok("intake", said)


def _loading(page: Mapping[str, object]) -> Finding:
    if page["load_failure"]:
        return failed(
            "loading", f"stopped: {page['load_failure']}", "arrivals stay in the log; fix the cause"
        )
    records, seconds = _whole(page, "load_lag_records"), _number(page, "load_lag_seconds")
    said = f"{records:,} records ({_whole(page, 'load_lag_bytes') / 1e6:,.1f} MB) behind"
    if seconds > LAG_SECONDS:
        return warning(
            "loading",
            f"{said}, for {seconds:,.0f} s",
            "it catches up when less is sent; give it more CPU",
        )
    return ok("loading", said if records else "up to date")


def _interpretation(page: Mapping[str, object]) -> Finding:
    traces, seconds = _whole(page, "interpretation_lag_traces"), _number(page, "interpretation_lag_seconds")
    said = f"{traces:,} traces behind"
    if page.get("interpretation_failure"):
        return failed(
            "interpretation",
            f"stopped, and is retried: {page['interpretation_failure']}",
            "the collector's log says more",
        )
    if broken := _whole(page, "interpretation_broken"):
        return warning(
            "interpretation",
            f"{broken:,} times since startup a run could not be interpreted",
            "retrospan sql \"SELECT run_id, reason FROM interpretation_problems WHERE field = ''\"",
        )
    if seconds > LAG_SECONDS:
        return warning(
            "interpretation",
            f"{said}, the first for {seconds:,.0f} s",
            "it catches up when less is sent; give it more CPU",
        )
    return ok("interpretation", said if traces else "up to date")


def _confinement(said: str) -> Finding:
    """`said` is what the process of the engine says of itself."""
    if "connections" in said:
        return ok("confinement", f"the engine is {said}")
    return warning(
        "confinement",
        f"the engine is {said}",
        "use a kernel of 6.7 or later with Landlock, or a separate user",
    )


def _quarantine(page: Mapping[str, object]) -> Finding:
    return check_quarantine(_whole(page, "quarantine"))


def check_quarantine(records: int) -> Finding:
    """Return whether records were left aside because they cannot be loaded."""
    if records:
        return warning(
            "quarantine",
            f"{records:,} records could not be loaded; their bytes are in the log",
            "retrospan sql \"SELECT reason, sample FROM rejects WHERE startsWith(reason, 'quarantined')\"",
        )
    return ok("quarantine", "empty")


def _alerts(page: Mapping[str, object]) -> Finding:
    if complaint := str(page.get("alerts_complaint") or ""):
        return warning("alerts", complaint, "retrospan alerts list; retrospan alerts test tries each")
    return ok("alerts", "no rule fails, and no target")


def _tables(page: Mapping[str, object]) -> Finding:
    return check_tables(str(page["table_complaint"]), _whole(page, "detached_parts"))


def check_tables(complaint: str, detached: int) -> Finding:
    """Return whether the tables hold what was loaded. `complaint` is one sentence, '' when nothing is wrong."""
    if complaint or detached:
        said = (
            complaint.removesuffix(": run `retrospan rebuild`")
            or f"{detached:,} parts of tables cannot be read"
        )
        return failed("tables", said, "start a collector, if none runs, and: retrospan rebuild")
    return ok("tables", "hold what was loaded")


def _migrations(page: Mapping[str, object]) -> Finding:
    return check_migrations(_whole(page, "pending_migrations"))


def check_migrations(pending: int) -> Finding:
    """Return whether the tables are those of the release that reads them."""
    if pending:
        return warning(
            "migrations", f"{pending:,} pending", "start a collector of this release, or: retrospan migrate"
        )
    return ok("migrations", "none pending")


def _whole(page: Mapping[str, object], name: str) -> int:
    value = page.get(name)
    return value if isinstance(value, int) else 0


def _number(page: Mapping[str, object], name: str) -> float:
    value = page.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
