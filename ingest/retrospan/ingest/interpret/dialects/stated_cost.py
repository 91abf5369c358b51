"""What the instrumentation of a model call says that it cost, and the tier of service that it was answered by."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from functools import reduce

from retrospan.ingest.interpret.spans.key import text_of_attribute
from retrospan.ingest.interpret.spans.span import Attributes
from retrospan.ingest.json_text import read_json

#: Attributes with the whole cost, and the currency that their authors define (None: they define none).
_TOTALS = (
    ("gen_ai.usage.cost.amount", None),
    ("llm.cost.total", "USD"),
    ("operation.cost", "USD"),
    ("gen_ai.usage.cost", None),
)
_CURRENCY = "gen_ai.usage.cost.currency"
#: Attributes with JSON of several costs, and the name of the whole there.
_DETAILS = (
    ("mlflow.llm.cost", "total_cost", "USD"),
    ("langfuse.observation.cost_details", "total", "USD"),
)
_PARTS = ("llm.cost.prompt", "llm.cost.completion")
_STATING = (*(key for key, _ in _TOTALS), *(key for key, *_ in _DETAILS), *_PARTS)

#: Where a tier of service is said: as answered counts before as asked.
_SERVICES = (
    "openai.response.service_tier",
    "gen_ai.openai.response.service_tier",
    "gen_ai.response.service_tier",
    "openai.request.service_tier",
    "gen_ai.openai.request.service_tier",
    "gen_ai.request.service_tier",
)

_MOST = Decimal(10) ** 20
_SMALLEST = Decimal("1e-12")
#: Digits enough for both: with the 28 that are the default, rounding what is dear fails.
_EXACT = Context(prec=38)


def stated_cost(attributes: Attributes) -> tuple[Decimal | None, str | None]:
    """Return the cost that a span states and its currency. Only what is a number, and not below 0, is a cost."""
    if attributes.keys().isdisjoint(_STATING):
        return None, None
    for key, currency in _TOTALS:
        if (amount := _amount(attributes.get(key))) is not None:
            said = text_of_attribute(attributes.get(_CURRENCY)) if key == _TOTALS[0][0] else None
            return amount, said or currency
    for key, name, currency in _DETAILS:
        if (amount := _amount(_read(attributes.get(key), name))) is not None:
            return amount, currency
    parts = [amount for key in _PARTS if (amount := _amount(attributes.get(key))) is not None]
    return (reduce(_EXACT.add, parts), "USD") if len(parts) == len(_PARTS) else (None, None)


def service_of(attributes: Attributes, parameters: dict[str, object]) -> str | None:
    """Return the tier of service of a request, such as `batch`, None where it says none."""
    for key in () if attributes.keys().isdisjoint(_SERVICES) else _SERVICES:
        if said := text_of_attribute(attributes.get(key)):
            return said
    asked = parameters.get("service_tier")
    return asked if isinstance(asked, str) and asked else None


def _read(value: object, name: str) -> object:
    if isinstance(value, str):
        try:
            value = read_json(value)
        except ValueError:
            return None
    return value.get(name) if isinstance(value, dict) else None


def _amount(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        amount = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None
    if not amount.is_finite() or not 0 <= amount < _MOST:
        return None
    return amount.quantize(_SMALLEST, context=_EXACT)
