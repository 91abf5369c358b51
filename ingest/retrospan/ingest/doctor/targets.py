"""Whether the targets of alerts could be reached. Nothing is sent to them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from retrospan.ingest.alerts.attempt import Deadline
from retrospan.ingest.alerts.public_address import ForbiddenAddress, address_of
from retrospan.ingest.alerts.rules import AlertRules, Program, Target, Webhook
from retrospan.ingest.alerts.webhook import secret_of, url_of
from retrospan.ingest.doctor.finding import Finding, failed, ok, warning
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError

CONNECT_SECONDS = 3.0


def check_targets(config: Config) -> Iterator[Finding]:
    """Yield whether the rules can be used, and what is wrong with each target; nothing without rules."""
    if config.alerts.rules is None:
        return
    try:
        rules = AlertRules.configured(config.alerts.rules)
        rules.require_timely(config.alerts.every_seconds)
    except ConfigError as error:
        yield failed("alert rules", str(error), "no collector starts with this file: mend it")
        return
    targets = rules.targets or {}
    faults = {name: reason for name, target in targets.items() if (reason := _fault(target))}
    for name, reason in faults.items():
        yield warning("alert targets", f"{name}: {reason}", "retrospan alerts test tells every target a test")
    if not faults:
        said = f"rules: {len(rules.rules)}, targets: {len(targets)}; each can be connected to or run"
        yield ok("alert targets", said)


def _fault(target: Target) -> str:
    """Return why a target could not be told; '' when it could."""
    try:
        return _fault_of_program(target) if isinstance(target, Program) else _fault_of_webhook(target)
    except (ConfigError, ForbiddenAddress) as error:
        return str(error)
    except OSError as error:
        return str(error.strerror or error)


def _fault_of_program(target: Program) -> str:
    require_trusted(Path(target.command[0]), "the program")
    return "" if os.access(target.command[0], os.X_OK) else f"{target.command[0]} cannot be run"


def _fault_of_webhook(target: Webhook) -> str:
    secret_of(target)
    parts = urlsplit(url_of(target))
    deadline = Deadline(CONNECT_SECONDS)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = address_of(parts.hostname or "", port, allow_private=target.allow_private, deadline=deadline)
    with socket.create_connection((address, port), deadline.left()):
        return ""
