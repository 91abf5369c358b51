"""Whose a data directory is: the embedded warehouse holds one tenant, a server holds many.

`DATA/tenant` names the tenant that wrote first. Another one is refused, for writing and for reading.
"""

from __future__ import annotations

import threading
from pathlib import Path

from retrospan.ingest.access.tokens import DEFAULT_TENANT
from retrospan.ingest.durable_files import Files
from retrospan.schemas.errors import Forbidden, LogFull

NAME = "tenant"


class Tenancy:
    """The tenant of one data directory; without a directory, the first to come, for the life of the process."""

    def __init__(
        self, directory: Path | None = None, *, has_records: bool = False, shared: bool = False
    ) -> None:
        """`has_records`: the log holds something. A directory with records and no name is of the default tenant.

        `shared`: the warehouse keeps tenants apart by itself, so that none is refused and none is the first.

        Raises:
            OSError: the directory cannot be read.
        """
        self._file = directory / NAME if directory is not None else None
        self._shared = shared
        self._writing = threading.Lock()
        self._tenant: str | None = None
        if self._file is not None and self._file.exists():
            self._tenant = self._file.read_text(encoding="utf-8").strip() or None
        if self._tenant is None and has_records:
            self._tenant = DEFAULT_TENANT

    @property
    def tenant(self) -> str | None:
        """Whose it is; None while nobody has written."""
        return self._tenant

    def check(self, tenant: str) -> None:
        """Return if the directory is this tenant's, or nobody's yet.

        Raises:
            Forbidden: it is another's; the message does not say whose.
        """
        if self._tenant is not None and self._tenant != tenant and not self._shared:
            raise Forbidden(
                f"this collector keeps one tenant in its data directory, which is not {tenant!r}. "
                "Run one collector per tenant, each with its own directory."
            )

    def claim(self, tenant: str) -> None:
        """Make the directory this tenant's before it writes; returns once that is on disk.

        Raises:
            Forbidden: it is another's.
            LogFull: the disk takes no name now.
        """
        if self._tenant is None and not self._shared:
            with self._writing:
                if self._tenant is None:
                    if self._file is not None:
                        try:
                            Files().replace(self._file, f"{tenant}\n".encode())
                        except OSError as error:
                            raise LogFull(
                                f"cannot record the tenant in {self._file}: {error.strerror}"
                            ) from error
                    self._tenant = tenant
        self.check(tenant)
