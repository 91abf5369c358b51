"""docs/configuration.md is what config.py says, and says something of every setting."""

from __future__ import annotations

import pytest
from docs import settings_page

from retrospan.ingest.config import Config
from retrospan.schemas.errors import ConfigError


def test_the_page_is_what_the_settings_are() -> None:
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), (
        "run tests/docs/settings_page.py to renew the page"
    )


def test_every_setting_is_on_the_page() -> None:
    page = settings_page.page()
    for key in Config().told():
        assert f"`{key}`" in page


@pytest.mark.parametrize(
    ("environ", "arguments", "said"),
    [
        ({}, {"limits.log_byte": "1"}, "Did you mean 'limits.log_bytes'"),
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
