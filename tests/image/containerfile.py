"""The Containerfile as its instructions, and its build stage as commands for a directory of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Instruction:
    """One instruction, in one line; `stage` counts from 0."""

    stage: int
    word: str
    rest: str


def instructions() -> list[Instruction]:
    """All of them, comments left out."""
    text = (TOP / "Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    found: list[Instruction] = []
    stage = -1
    for line in filter(None, lines):
        word, _, rest = line.partition(" ")
        stage += word == "FROM"
        found.append(Instruction(stage, word, rest))
    return found


def build(directory: Path, parts: str) -> Path:
    """Do what the first stage does, below a directory instead of below /; the path of the program that comes of it."""
    source = directory / "src"
    source.mkdir()
    (directory / "bin").mkdir()
    (directory / "bin" / "python").symlink_to(sys.executable)
    environ = {**os.environ, "PATH": f"{directory / 'bin'}:{os.environ['PATH']}", "PARTS": parts}
    for instruction in instructions():
        if instruction.stage != 0:
            continue
        if instruction.word == "COPY":
            *names, place = instruction.rest.split()
            _copy(names, source / place)
        elif instruction.word == "RUN":
            # The cache of this machine may be used: what is tested is the command, not the network.
            command = instruction.rest.replace("/opt/", f"{directory}/opt/").replace(" --no-cache ", " ")
            subprocess.run(["sh", "-ec", command], cwd=source, env=environ, check=True, timeout=900)
    return directory / "opt" / "retrospan" / "bin" / "retrospan"


def _copy(names: Sequence[str], place: Path) -> None:
    for name in names:
        origin = TOP / name
        if origin.is_dir():
            shutil.copytree(origin, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(origin, place)
