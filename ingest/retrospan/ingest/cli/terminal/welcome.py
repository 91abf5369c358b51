"""What `retrospan` says alone: what is installed here, and the next line to type."""

from __future__ import annotations

from importlib.util import find_spec

#: What a part is, the module that it cannot do without, and the extra that brings it.
_PARTS = (
    ("the collector", "uvicorn", "server"),
    ("ClickHouse inside it", "chdb", "embedded"),
    ("DataFrames in Python", "polars", "frames"),
    ("export over gRPC", "grpc", "grpc"),
)
_ALWAYS = "recording in agents, and every command that asks a collector"


def welcome() -> str:
    """Return what to type next, by what is installed. Nothing that is looked for is imported."""
    lines = ["Installed:", f"  yes  {_ALWAYS}"]
    for part, module, extra in _PARTS:
        there = is_installed(module)
        lines.append(f"  yes  {part}" if there else f"  no   {part:<22}{install_line(extra)}")
    lines += ["", "Next:"]
    if is_installed("chdb") and is_installed("uvicorn"):
        lines.append("  retrospan demo                  see it work in seconds, without a key or network")
        lines.append("  retrospan serve                 receive OTLP on 4317 and 4318, answer SQL on 8123")
    else:
        lines.append(f"  {install_line('embedded')}   then: retrospan demo")
    lines.append("  retrospan doctor                what is wrong here, if anything")
    return "\n".join(lines) + "\n"


def is_installed(module: str) -> bool:
    """Return whether a module could be imported."""
    try:
        return find_spec(module) is not None
    except ValueError:  # it was taken away: what is in its place has no spec
        return False


def install_line(extra: str) -> str:
    """Return the line that installs an extra."""
    return f'pip install "retrospan[{extra}]"'
