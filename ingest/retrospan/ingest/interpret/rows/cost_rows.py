"""What the model calls of a run cost, by kind of tokens, and what of it went into retries and loops. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TypedDict

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.dialects.stated_cost import service_of, stated_cost
from retrospan.ingest.interpret.invariants.around_requests import counts, spans_of_several
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.key import Key
from retrospan.ingest.prices.history import PriceHistory
from retrospan.ingest.prices.pricing import Cost, Usage, cost_of, exact_sum
from retrospan.schemas import canonical as rows
from retrospan.schemas.costs import CostRow

#: Reasons are made of models' names, which may be of any length.
_LONGEST = 300

_FAILED = "it failed, and says no tokens"
_ABOVE = "its tokens are counted above it, with those of all calls there"
_COUNTED_ABOVE = Cost(None, unknown=_ABOVE)


class _Place(TypedDict):
    """Which call of which run it is that costs."""

    tenant: str
    run_id: str
    generation: int
    model_call: int
    step: int | None
    agent_name: str | None
    provider: str | None
    model: str | None
    tool_name: str | None
    wasted: str | None
    at: int


def cost_rows(
    key: Key,
    run: InterpretedRun,
    calls: Sequence[rows.ModelCallRow],
    steps: Sequence[rows.StepRow],
    wasted: dict[int, str],
    prices: PriceHistory,
) -> tuple[list[CostRow], dict[int, Cost]]:
    """Return a row for each kind of tokens of each model call, and each call's cost; note it in the rows of the acts.

    A call that failed and says no tokens has none: it counts neither as free nor as unknown. Nor does one of a run whose
    tokens only spans above the calls count: what these cost is of all of them.
    """
    found: list[CostRow] = []
    costs: dict[int, Cost] = {}
    tools = run.tree.nearest(lambda span: span.operation == "tool")
    tops = _counting_above(run)
    inside_of = run.tree.nearest(tops.__contains__) if tops else {}
    for call, row in zip(run.calls.models, calls, strict=True):
        cost = _COUNTED_ABOVE if call.span in inside_of else _cost_of_call(call, prices)
        _note(row, cost)
        if not call.span.is_told:
            amount, row.stated_currency = stated_cost(call.span.sent.attributes)
            row.stated_cost = None if amount is None else f"{amount:f}"
        if cost.unknown in (_FAILED, _ABOVE):
            continue
        costs[row.ordinal] = cost
        inside = tools.get(call.span)
        place: _Place = {
            **key,
            "model_call": row.ordinal,
            "step": row.step,
            "agent_name": row.agent_name,
            "provider": row.provider,
            "model": _model(call.span),
            "tool_name": inside.tool_name if inside is not None else None,
            "wasted": wasted.get(row.ordinal),
            "at": row.started_at,
        }
        found += _rows(place, cost)
    for step in steps:
        if step.model_call in costs:
            _note_amount(step, costs[step.model_call])
    return found, costs


def whole_run_rows(key: Key, run: InterpretedRun, prices: PriceHistory) -> tuple[list[CostRow], list[Cost]]:
    """Return the same of what only spans above count: where no model call says any tokens, as for the run's tokens."""
    asked = {(call.span.provider, _model(call.span)) for call in run.calls.models}
    found: list[CostRow] = []
    costs: list[Cost] = []
    for top in _counting_above(run):
        own = (top.provider, _model(top))
        provider, model = own if own[1] else next(iter(asked)) if len(asked) == 1 else (None, None)
        usage = _usage(top, provider, model, None, is_sum=True)
        cost = cost_of(usage, prices.at(top.sent.started_at, top.sent.arrived_at))
        place: _Place = {
            **key,
            "model_call": 0,
            "step": None,
            "agent_name": top.agent_name,
            "provider": provider,
            "model": model,
            "tool_name": None,
            "wasted": None,
            "at": top.sent.started_at,
        }
        found += _rows(place, cost)
        costs.append(cost)
    return found, costs


def _counting_above(run: InterpretedRun) -> list[NormalizedSpan]:
    """Return the spans above all calls that count tokens, where no call does."""
    if any(counts(call.span) for call in run.calls.models):
        return []
    tops = [top for top in run.tree.roots() if top.operation in ("agent", "workflow") and counts(top)]
    several = spans_of_several(run.tree, run.calls.models)
    if not tops and len(several) == len(run.calls.models):
        tops = [top for top in dict.fromkeys(several.values()) if counts(top)]
    return tops


def note_total(row: rows.RunRow | rows.AgentRow, costs: Sequence[Cost]) -> None:
    """Note what calls cost together: NULL with a reason where any of them has no price, or currencies differ."""
    total = _total(costs)
    _note_amount(row, total)
    row.cost_unknown = total.unknown[:_LONGEST] if total.unknown else None


def wasted_calls(
    tools: Sequence[rows.ToolCallRow],
    invocations: Sequence[int],
    loops: Sequence[rows.LoopRow],
    attempts: Sequence[rows.AttemptRow],
    steps: Sequence[rows.StepRow],
) -> dict[int, str]:
    """Return the model calls that led to nothing new, by ordinal, and why.

    `retry`: the request failed and was repeated, or all that it asked for was another try of a tool. `loop`: all that it
    asked for repeats calls with the same tool and arguments.
    """
    if not loops and not attempts:
        return {}
    calls = {step.step: step.model_call for step in steps if step.model_call}
    found = {
        calls[each.step]: "retry"
        for each in attempts
        if each.tool_name is None and each.status == "error" and each.step in calls
    }
    tried_again = {each.step for each in attempts if each.tool_name is not None and each.attempt > 1}
    repeats = _repeats(tools, invocations, loops)
    asked: defaultdict[int, list[rows.ToolCallRow]] = defaultdict(list)
    for tool in tools:
        if tool.asked_by:
            asked[tool.asked_by].append(tool)
    for ordinal, of_call in asked.items():
        if all(tool.ordinal in repeats for tool in of_call):
            found[ordinal] = "loop"
        elif all(tool.step in tried_again for tool in of_call):
            found.setdefault(ordinal, "retry")
    return found


def _repeats(
    tools: Sequence[rows.ToolCallRow], invocations: Sequence[int], loops: Sequence[rows.LoopRow]
) -> set[int]:
    """Return the ordinals of calls in loops, but the first of each loop: those of its invocation of the agent."""
    found: set[int] = set()
    by_what: defaultdict[tuple[str | None, str, str | None, int], list[rows.ToolCallRow]] = defaultdict(list)
    of_step: dict[int | None, int] = {}
    for tool, invocation in zip(tools, invocations, strict=True):
        by_what[tool.agent_name, tool.tool_name, tool.arguments_hash, invocation].append(tool)
        of_step[tool.step] = invocation
    for loop in loops:
        what = loop.agent_name, loop.tool_name, loop.arguments_hash, of_step[loop.first_step]
        found.update(
            tool.ordinal
            for tool in by_what[what]
            if tool.step is not None and loop.first_step < tool.step <= loop.last_step
        )
    return found


def _cost_of_call(call: ModelCall, prices: PriceHistory) -> Cost:
    span = call.span
    if span.failed and not counts(span):
        return Cost(None, unknown=_FAILED)
    service = service_of({} if span.is_told else span.sent.attributes, span.parameters)
    usage = _usage(span, span.provider, _model(span), service)
    return cost_of(usage, prices.at(span.sent.started_at, span.sent.arrived_at))


def _usage(
    span: NormalizedSpan,
    provider: str | None,
    model: str | None,
    service: str | None,
    *,
    is_sum: bool = False,
) -> Usage:
    return Usage(
        provider=provider,
        model=model,
        buckets=span.tokens.buckets(),
        input_tokens=span.tokens.input,
        output_tokens=span.tokens.output,
        service=service,
        at=span.sent.started_at or span.sent.arrived_at,
        is_sum=is_sum,
    )


def _model(span: NormalizedSpan) -> str | None:
    return span.response_model or span.request_model


def _rows(place: _Place, cost: Cost) -> Iterable[CostRow]:
    told = False
    for line in cost.lines:
        told = told or line.unknown is not None
        yield CostRow(
            tenant=place["tenant"],
            run_id=place["run_id"],
            generation=place["generation"],
            model_call=place["model_call"],
            step=place["step"],
            agent_name=place["agent_name"],
            provider=place["provider"],
            model=place["model"],
            tool_name=place["tool_name"],
            wasted=place["wasted"],
            at=place["at"],
            bucket=line.bucket,
            tokens=line.tokens,
            price=None if line.price is None else f"{line.price:f}",
            amount=None if line.amount is None else f"{line.amount:f}",
            currency=None if line.price is None else cost.currency,
            price_list=None if line.price is None else cost.table,
            unknown=line.unknown[:_LONGEST] if line.unknown else None,
        )
    if cost.unknown is not None and not told:
        yield CostRow(**place, unknown=cost.unknown[:_LONGEST])


def _total(costs: Sequence[Cost]) -> Cost:
    if not costs:
        return Cost(None, unknown="no model call says its tokens")
    without = [cost for cost in costs if cost.amount is None]
    if without:
        which = f"{len(without)} of {len(costs)} model calls: " if len(costs) > 1 else ""
        return Cost(None, unknown=f"{which}{without[0].unknown}")
    currencies = sorted({cost.currency for cost in costs if cost.currency})
    if len(currencies) > 1:
        return Cost(None, unknown=f"its prices are in {' and '.join(currencies)}")
    amounts: list[Decimal] = [cost.amount for cost in costs if cost.amount is not None]
    return Cost(exact_sum(amounts), currency=currencies[0] if currencies else None)


def _note(row: rows.ModelCallRow, cost: Cost) -> None:
    _note_amount(row, cost)
    row.cost_unknown = cost.unknown[:_LONGEST] if cost.unknown else None
    row.price_list = cost.table if cost.amount is not None else None


def _note_amount(row: rows.ModelCallRow | rows.StepRow | rows.AgentRow | rows.RunRow, cost: Cost) -> None:
    row.cost = None if cost.amount is None else f"{cost.amount:f}"
    row.currency = cost.currency if cost.amount is not None else None
