"""What a rule says of a run, and how it says it."""

from __future__ import annotations

from dataclasses import dataclass

#: From the least to the gravest.
SEVERITIES = ("info", "warning", "error")
#: Characters of a text that an explanation quotes, and references that a finding rests on, at most.
_QUOTED, _MOST_EVIDENCE = 80, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong; `evidence` are references of what shows it, `ordinals` the tool calls it is about."""

    rule: str
    severity: str
    step: int | None
    explanation: str
    evidence: tuple[str, ...]
    at: int
    agent_name: str | None = None
    tool_name: str | None = None
    idempotency_key: str | None = None  # of an effect: another run may settle it
    ordinals: tuple[int, ...] = ()


def quoted(text: str | None) -> str:
    """Return a text as explanations quote it: on one line, and cut where it is long."""
    said = " ".join((text or "").split())
    return said if len(said) <= _QUOTED else f"{said[: _QUOTED - 1]}…"


def chosen(references: list[str]) -> tuple[str, ...]:
    """Return the references that a finding keeps: each once, the first and the last of many."""
    each = list(dict.fromkeys(references))
    if len(each) <= _MOST_EVIDENCE:
        return tuple(each)
    return (*each[: _MOST_EVIDENCE - 1], each[-1])
