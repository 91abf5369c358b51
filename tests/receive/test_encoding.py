"""What inflating costs, in bytes that are looked at."""

from __future__ import annotations

import gzip
from typing import Any, ClassVar

import pytest

from retrospan.ingest.receive.encoding import decompress
from retrospan.schemas.errors import BadRequest

from .conftest import REQUEST_BYTES


class Counted(bytes):
    """Counts how many of its bytes anybody looks at or copies."""

    looked: ClassVar[int] = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        Counted.looked += len(found) if isinstance(place, slice) else 1
        return found

    def count(self, *arguments: Any) -> int:
        Counted.looked += len(self) - (arguments[1] if len(arguments) > 1 else 0)
        return super().count(*arguments)


@pytest.mark.parametrize("ending", [b"", b"\1"], ids=["padding", "rubbish behind padding"])
def test_padding_is_looked_through_once_however_many_members_there_are(ending: bytes) -> None:
    members = gzip.compress(b"", mtime=0) * 4000
    body = Counted(members + bytes(1 << 20) + ending)
    Counted.looked = 0
    if ending:
        with pytest.raises(BadRequest, match="neither another member nor zeros"):
            decompress(body, "gzip", limit_bytes=REQUEST_BYTES)
    else:
        assert decompress(body, "gzip", limit_bytes=REQUEST_BYTES) == b""
    # At most 4 KiB for each member, and the padding once.
    assert Counted.looked < 4001 * 4200 + 2 * len(body)
