"""What the name of a model tells of another: a version of it, as the one that answers is of the one that is asked for."""

from __future__ import annotations

import re

#: What tells a version of a model from the name by which it is asked for.
VERSION = re.compile(r"[-@](?:\d{4}-\d\d-\d\d|\d{8}|\d{3,4})\Z")


def is_version(model: str | None, name: str | None) -> bool:
    """Tell whether a model is a version of what is asked for by a name."""
    return bool(model and name) and VERSION.sub("", model or "") == name != model
