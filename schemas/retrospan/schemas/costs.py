"""The canonical rows of what model calls cost: they mirror the table `canon_costs`, column for column.

Unknown is None (NULL). Amounts are texts of decimals, as exact as the table. Times are Unix nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class CostRow:
    """Tokens of one kind of a model call and what they cost; without a bucket, that its tokens are not known.

    Amounts are decimal texts. Those of `model_call` 0 are of spans above, where no model call says its own.
    """

    tenant: str
    run_id: str
    generation: int
    model_call: int
    step: int | None
    agent_name: str | None
    provider: str | None
    model: str | None
    tool_name: str | None  # in whose call it was made
    bucket: str | None = None
    tokens: int | None = None
    price: str | None = None  # of a million tokens
    amount: str | None = None
    currency: str | None = None
    price_list: str | None = None
    unknown: str | None = None  # why there is no amount
    wasted: str | None = None  # retry | loop
    at: int
