"""How much a tenant may send: a bucket of spans and one of bytes, each refilled every second.

A bucket admits a request while it holds anything, and may go into debt: how much a request holds is certain only once
it has been read, and a request larger than the bucket must get through eventually.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from retrospan.ingest.access.tokens import Quota
from retrospan.schemas.errors import OverQuota

Clock = Callable[[], float]


class Bucket:
    """Holds one second's worth at most. Not shared between threads without a lock."""

    def __init__(self, rate: float, clock: Clock) -> None:
        """`rate` is per second of the clock."""
        self.rate = rate
        self._clock = clock
        self._level = rate
        self._at = clock()

    def is_open(self) -> bool:
        """Return whether another request may come in now."""
        now = self._clock()
        self._level = min(self.rate, self._level + (now - self._at) * self.rate)
        self._at = now
        return self._level > 0

    def charge(self, amount: float) -> None:
        """Take out what was let in."""
        self._level -= amount


class Meter:
    """The buckets of all tenants. Shared by all threads."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._metering = threading.Lock()
        self._buckets: dict[str, tuple[Quota, Bucket | None, Bucket | None]] = {}

    def enter(self, tenant: str, quota: Quota | None, size: int) -> None:
        """Let a request of `size` bytes in.

        Raises:
            OverQuota: the tenant sends more than its quota; nothing is charged.
        """
        if quota is None:
            return
        with self._metering:
            spans, data = self._of(tenant, quota)
            if spans is not None and not spans.is_open():
                raise OverQuota(f"tenant {tenant!r} sends more than its {spans.rate:,g} spans a second")
            if data is not None:
                if not data.is_open():
                    raise OverQuota(f"tenant {tenant!r} sends more than its {data.rate:,g} bytes a second")
                data.charge(size)

    def charge_spans(self, tenant: str, quota: Quota | None, spans: int) -> None:
        """Charge the spans, or log records, of a request that was let in."""
        if quota is None:
            return
        with self._metering:
            bucket, _ = self._of(tenant, quota)
            if bucket is not None:
                bucket.charge(spans)

    def _of(self, tenant: str, quota: Quota) -> tuple[Bucket | None, Bucket | None]:
        """Return the tenant's buckets; full ones when its quota has changed."""
        found = self._buckets.get(tenant)
        if found is None or found[0] != quota:
            spans, data = (
                Bucket(rate, self._clock) if rate is not None else None
                for rate in (quota.spans_per_second, quota.bytes_per_second)
            )
            found = self._buckets[tenant] = (quota, spans, data)
        return found[1], found[2]
