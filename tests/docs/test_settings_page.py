"""docs/configuration.md is what config.py says, and says something of every setting."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs import settings_page
from docs.pages import TOP

from retrospan.ingest.cli.command_table import parser_of
from retrospan.ingest.cli.terminal.arguments import UsageError
from retrospan.ingest.settings.config import KEYS, Config
from retrospan.schemas.errors import ConfigError


def test_the_page_is_what_the_settings_are() -> None:
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), (
        "run tests/docs/settings_page.py to renew the page"
    )


def test_every_setting_is_on_the_page() -> None:
    page = settings_page.page()
    for key in KEYS:
        assert f"`{key}`" in page


@pytest.mark.parametrize(
    ("environ", "arguments", "said"),
    [
        ({}, {"limits.log_byte": "1"}, "Did you mean 'limits.log_bytes'"),
        ({"RETROSPAN_LIMITS_LOG_BYTE": "1"}, {}, "Did you mean 'RETROSPAN_LIMITS_LOG_BYTES'"),
        ({"RETROSPAN_GRCP": ":1"}, {}, "Did you mean 'RETROSPAN_GRPC'"),
        ({"RETROSPAN_LIMITS_LOG_BYTES": "much"}, {}, "RETROSPAN_LIMITS_LOG_BYTES"),
        ({"RETROSPAN_LOADER_WAIT_SECONDS": "-1"}, {}, "RETROSPAN_LOADER_WAIT_SECONDS"),
    ],
)
def test_a_setting_that_cannot_be_used_names_the_page(
    environ: dict[str, str], arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError, match=r"docs/configuration\.md") as raised:
        Config.read(arguments, environ)
    assert said in str(raised.value)


def test_a_key_of_the_file_that_is_misspelt_names_the_nearest_and_the_page(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[loader]\nbatch_byte = 1\n")
    with pytest.raises(
        ConfigError, match=r"'loader.batch_byte' in .* line 2.*docs/configuration\.md"
    ) as raised:
        Config.read({}, {}, file)
    assert "Did you mean 'loader.batch_bytes'?" in str(raised.value)


def test_a_flag_that_is_misspelt_names_the_nearest_and_help_names_the_page() -> None:
    with pytest.raises(UsageError, match=r"unknown flag '--host-name'\. Did you mean '--host-names'\?"):
        parser_of("serve").read(["--host-name", "a.example"])
    assert settings_page.PAGE.relative_to(TOP).as_posix() in parser_of("serve").format_help()


@pytest.mark.parametrize(
    "name",
    ["RETROSPAN_URL", "RETROSPAN_TOKEN", "RETROSPAN_EXPORTER_REQUEST_BYTES", "RETROSPAN_VALUE_LIMIT_BYTES",
     "RETROSPAN_PORT", "RETROSPAN_SERVICE_HOST", "RETROSPAN_SQL_PORT_8123_TCP", "RETROSPAN_MINE"],
)  # fmt: skip
def test_variables_of_others_are_not_settings(name: str) -> None:
    assert Config.read({}, {name: "x"}) == Config()
