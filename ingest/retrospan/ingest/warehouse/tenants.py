"""Tenants of one server kept apart by the server: a user and row policies for each, on the tables under all views.

    user      may SELECT from our tables and views, nothing else, and only read
    policy    on each table with rows of tenants: the user sees those with its own name, whatever it asks

The collector asks as the user of the token's tenant, so neither a hole in the guard nor a view that forgets its tenant
shows another's rows. The passwords follow from the collector's own, so nothing more is kept secret, and every collector
of a warehouse makes the same users. An embedded engine makes no users: its directory holds one tenant.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Iterator
from dataclasses import replace

from retrospan.ingest.settings.server_address import ServerAddress
from retrospan.ingest.warehouse.error_codes import ACCESS_DENIED
from retrospan.ingest.warehouse.server import ServerStore, ServerWarehouse
from retrospan.queries import catalogue
from retrospan.schemas.engines import Form
from retrospan.schemas.errors import ConfigError, SqlError
from retrospan.schemas.literals import literal
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Store

#: Every table that holds rows of tenants. A test compares it with the migrations.
TABLES = (
    "raw_spans",
    "raw_logs",
    "raw_rejects",
    "raw_resent",
    "arrivals",
    "run_marks",
    "processes",
    "receipts",
    "loaded_batches",
    "canon_traces",
    "canon_spans",
    "canon_values",
    "canon_model_calls",
    "canon_tool_calls",
    "canon_steps",
    "canon_state_changes",
    "canon_edges",
    "canon_failures",
    "canon_attempts",
    "canon_agents",
    "canon_loops",
    "canon_habits",
    "canon_findings",
    "canon_crossings",
    "canon_observations",
    "canon_uses",
    "canon_decisions",
    "canon_effects",
    "canon_checkpoints",
    "canon_approvals",
    "canon_compactions",
    "canon_evaluations",
    "canon_costs",
    "canon_log_texts",
    "canon_problems",
    "canon_runs",
)
#: No privilege, no access storage that can be written, and no such thing: this login cannot keep tenants apart.
_REFUSALS = (ACCESS_DENIED, 514)


def condition(tenant: str) -> str:
    """Return what a row must fulfil to be this tenant's."""
    return f"tenant = {literal(tenant)}"


def reader_of(address: ServerAddress, tenant: str) -> ServerAddress:
    """Return the same server as the user of a tenant.

    Raises:
        ConfigError: the collector's own login has no password to derive one from.
    """
    if not address.password:
        raise ConfigError(
            f"{address}: tenants are kept apart by users whose passwords follow from this login's, and it has none. "
            "Give the server's user a password (server.password)."
        )
    password = hmac.digest(address.password.encode(), f"retrospan reader {tenant}".encode(), hashlib.sha256)
    return replace(address, user=f"retrospan:{tenant}", password=password.hex())


def statements(address: ServerAddress, tenant: str, form: Form) -> Iterator[str]:
    """Yield what makes a tenant's user and policies, in order; safe to repeat. `address` is the collector's own."""
    reader = reader_of(address, tenant)
    user, own = _name(reader.user), _name(address.user)
    everywhere = f" ON CLUSTER `{form.cluster}`" if form.cluster else ""
    login = f"IDENTIFIED WITH sha256_hash BY '{hashlib.sha256(reader.password.encode()).hexdigest()}'"
    yield f"CREATE USER IF NOT EXISTS {user}{everywhere} {login} SETTINGS readonly = 2"
    # The collector's own password may have changed since.
    yield f"ALTER USER {user}{everywhere} {login} SETTINGS readonly = 2"
    for table in dict.fromkeys(name for base in TABLES for name in (base, form.local(base))):
        place = f"{DATABASE}.{table}"
        # Where there is a policy, a server may show nothing to users without one.
        yield f"CREATE ROW POLICY IF NOT EXISTS retrospan_own{everywhere} ON {place} FOR SELECT USING 1 TO {own}"
        yield (
            f"CREATE ROW POLICY IF NOT EXISTS {user}{everywhere} ON {place} "
            f"FOR SELECT USING {condition(tenant)} TO {user}"
        )
        yield f"GRANT{everywhere} SELECT ON {place} TO {user}"
    for view in catalogue.views():
        yield f"GRANT{everywhere} SELECT ON {DATABASE}.{view.name} TO {user}"


class TenantReaders:
    """Connections by which each tenant's questions are asked. Safe to share between threads."""

    def __init__(self, warehouse: ServerWarehouse) -> None:
        self._warehouse = warehouse
        self._lock = threading.Lock()
        self._readers: dict[str, ServerWarehouse] = {}

    def connect(self, tenant: str) -> ServerStore:
        """Open a connection as a tenant's user, which is made at the first time.

        Raises:
            ConfigError: the collector's login may make no users.
            WarehouseUnavailable: not now.
        """
        with self._lock:
            reader = self._readers.get(tenant)
            if reader is None:
                self._make(tenant)
                reader = self._warehouse.as_user(reader_of(self._warehouse.address, tenant))
                self._readers[tenant] = reader
        return reader.connect()

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        with self._lock:
            readers, self._readers = self._readers, {}
        for reader in readers.values():
            reader.close()

    def _make(self, tenant: str) -> None:
        store: Store = self._warehouse.connect()
        try:
            for statement in statements(self._warehouse.address, tenant, self._warehouse.form):
                store.command(statement)
        except SqlError as refusal:
            if refusal.code not in _REFUSALS:
                raise
            raise ConfigError(
                f"{self._warehouse.address} may not make users and row policies, without which tenants are not kept "
                f"apart: {refusal}. Grant it ACCESS MANAGEMENT and its own SELECT WITH GRANT OPTION."
            ) from refusal
        finally:
            store.close()


def _name(value: str) -> str:
    return "`" + value.replace("\\", "\\\\").replace("`", "\\`") + "`"
