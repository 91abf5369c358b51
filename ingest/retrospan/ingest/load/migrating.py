"""Migrates tables and views to this release as a command: what a collector does at startup, reported step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing

from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.queries import catalogue
from retrospan.schemas.migrate import Migrations


def migrate(warehouse: Warehouse, report: Callable[[Mapping[str, object]], None], *, dry_run: bool) -> None:
    """Apply pending migrations and make all views anew; with `dry_run` only list what is pending.

    `report` gets each migration, and last how many there were.

    Raises:
        SchemaTooNew: a later release wrote the tables; nothing was changed.
    """
    form = warehouse.form
    with closing(warehouse.connect()) as store:
        migrations = Migrations(store, form=form).apply(dry_run=dry_run)
        for migration in migrations:
            report({"phase": "pending" if dry_run else "migrating", "migration": migration.name})
        if not dry_run:
            catalogue.install(store, form, anew=True)
    report({"migrations": len(migrations), "views": len(catalogue.views()), "dry_run": dry_run})
