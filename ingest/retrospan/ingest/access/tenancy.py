"""Which tenant a data directory belongs to: an embedded warehouse holds one tenant, a server holds many.

`DATA/tenant` names the tenant that wrote first. Any other is refused, for writing and for reading. If the file is gone,
the records of the log tell whose the directory is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from retrospan.ingest.access.tokens import DEFAULT_TENANT
from retrospan.ingest.machine.durable_files import Files
from retrospan.schemas.errors import ConfigError, Forbidden, LogFull

NAME = "tenant"


class Tenancy:
    """The tenant of one data directory; without a directory, the first to come, for the life of the process."""

    def __init__(
        self,
        directory: Path | None = None,
        *,
        sender: Callable[[], str | None] = lambda: None,
        shared: bool = False,
    ) -> None:
        """`sender` tells whose the first record is, None when there is none; it is asked where the directory has no name.

        `shared`: the warehouse keeps tenants apart by itself, so that none is refused and none is the first.

        Raises:
            OSError: the directory cannot be read.
            ConfigError: what is there is not a name.
        """
        self._file = directory / NAME if directory is not None else None
        self._shared = shared
        self._writing = threading.Lock()
        self._tenant = self._recorded()
        self._is_recorded = self._tenant is not None
        if self._tenant is None and not shared:
            found = sender()
            self._tenant = DEFAULT_TENANT if found == "" else found

    @property
    def shared(self) -> bool:
        """Whether several tenants may write here."""
        return self._shared

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
        self.check(tenant)
        if self._is_recorded or self._shared:
            return
        with self._writing:
            self.check(tenant)
            if self._is_recorded:
                return
            if self._file is not None:
                try:
                    Files().replace(self._file, f"{tenant}\n".encode())
                except OSError as error:
                    raise LogFull(f"cannot record the tenant in {self._file}: {error.strerror}") from error
            self._tenant, self._is_recorded = tenant, True

    def _recorded(self) -> str | None:
        if self._file is None or not self._file.exists():
            return None
        try:
            return self._file.read_text(encoding="utf-8").strip() or None
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{self._file} does not hold the name of a tenant: it is not UTF-8. Put back the name, or remove the file: "
                "then the first record of the log tells whose the directory is."
            ) from error
