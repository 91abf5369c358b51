"""What a rule asks the warehouse, as one statement each. Pure: text in, text out.

The condition and the choice of rows are the operator's SQL, and the guard judges the whole as it does any reader's.
"""

from __future__ import annotations

from retrospan.ingest.alerts.rules import AlertRule

#: Names that no view has, so that none is hidden by them.
MATCHED, FIRES = "retrospan_matched", "retrospan_fires"
SAMPLE_ROWS = 5
SAMPLE_CHARACTERS = 500


def evaluation(rule: AlertRule) -> str:
    """Return what gives one row: how many rows match, and whether the condition holds (NULL: not known).

    Parameters: since and until, DateTime64(3, 'UTC'), and with a tenant that.
    """
    return (
        f"SELECT\n    count() AS {MATCHED},\n    CAST((\n{rule.condition}\n) AS Nullable(Bool)) AS {FIRES}\n"
        f"{_rows(rule)}"
    )


def samples(rule: AlertRule) -> str:
    """Return what gives the newest rows that match: when each was, and the columns to tell, cut and as text."""
    shown = [f"    substringUTF8(toString({name}), 1, {SAMPLE_CHARACTERS + 1})" for name in rule.show]
    columns = ",\n".join([f"    toString({rule.time})", *shown])
    return f"SELECT\n{columns}\n{_rows(rule)}\nORDER BY {rule.time} DESC\nLIMIT {SAMPLE_ROWS}"


def _rows(rule: AlertRule) -> str:
    tenant = "\n    AND tenant = {tenant:String}" if rule.tenant else ""
    return (
        f"FROM {rule.view}\nWHERE {rule.time} > {{since:DateTime64(3, 'UTC')}}\n"
        f"    AND {rule.time} <= {{until:DateTime64(3, 'UTC')}}{tenant}\n    AND (\n{rule.where}\n)"
    )
