from __future__ import annotations

import re
from pathlib import Path

from retrospan.ingest.cli.command_table import COMMANDS, parser_of
from retrospan.ingest.cli.main import top_help

PAGE = Path(__file__).resolve().parents[3] / "docs" / "commands.md"


def test_the_page_shows_the_help_texts_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```\n", page, re.DOTALL)
    assert blocks == [top_help(), *[parser_of(name).format_help() for name in COMMANDS]]
    assert re.findall(r"^## retrospan (\w+)$", page, re.MULTILINE) == list(COMMANDS)
