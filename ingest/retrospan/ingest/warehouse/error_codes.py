"""ClickHouse's error codes, and which of them pass by themselves: the same statement may succeed later."""

from __future__ import annotations

import re

MEMORY_LIMIT_EXCEEDED = 241
UNKNOWN_DATABASE = 81
ACCESS_DENIED = 497
#: TOO_MANY_PARTS, NOT_ENOUGH_SPACE, CANNOT_OPEN_FILE / ran out of descriptors, TIMEOUT_EXCEEDED.
PASSING = frozenset({252, 243, 76, 159, 209, 210})
#: What a server may say besides: too many queries, a table that is read-only while Keeper is away, an unknown fate of an
#: insert, replicas and networks that are not there; and a login that is refused: the secret may just be changing, and
#: nothing that was sent is to blame.
PASSING_OF_A_SERVER = PASSING | {
    202,
    225,
    236,
    242,
    279,
    285,
    286,
    319,
    341,
    394,
    439,
    999,
    192,
    193,
    194,
    516,
}
_CODE = re.compile(r"Code: (\d+)")


def error_code(message: str) -> int | None:
    """ClickHouse's error number, from its message."""
    found = _CODE.search(message)
    return int(found.group(1)) if found else None
