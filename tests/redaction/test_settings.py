"""Redaction as it is configured: off unless asked for, and never half on."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrospan.ingest.redact.redactor import Redactor
from retrospan.ingest.settings.config import Config
from retrospan.schemas.errors import ConfigError


def test_nothing_is_redacted_unless_asked_for() -> None:
    assert Redactor.of(Config.read().redaction) is None


def test_a_variable_switches_the_built_in_rules_on() -> None:
    redactor = Redactor.of(Config.read({}, {"RETROSPAN_REDACTION_ENABLED": "true"}).redaction)
    assert redactor is not None
    said: list[str] = []
    redactor.redacting(said.append)("from jane@example.org")
    assert said == ["from [redacted:email]"]


def test_rules_without_redaction_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"redaction\.rules: .* is set, but redaction is off"):
        Config.read({"redaction.rules": str(tmp_path / "rules.toml")})


def test_rules_that_cannot_be_read_stop_the_start(tmp_path: Path) -> None:
    settings = Config.read(
        {"redaction.enabled": True, "redaction.rules": str(tmp_path / "rules.toml")}
    ).redaction
    with pytest.raises(ConfigError, match="cannot read"):
        Redactor.of(settings)
