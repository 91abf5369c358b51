"""Amounts of money."""

from __future__ import annotations


def money(amount: object, currency: str | None) -> str:
    """`12.35 USD`, or `0.0031 USD` where cents would say too little; `-` where it is not known."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        return "-"
    if 0 < abs(amount) < 1:
        exponent = int(f"{amount:e}".partition("e")[2])
        text = f"{amount:.{max(2, 2 - exponent)}f}".rstrip("0")
        text = text.ljust(text.index(".") + 3, "0")
    else:
        text = f"{amount:,.2f}"
    return f"{text} {currency}" if currency else text
