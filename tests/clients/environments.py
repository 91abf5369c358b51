"""Clients at pinned versions, each in an environment of its own, which is made once and kept.

What is fetched from a registry may be missing, and the test is skipped then; what is compiled of ours may not fail.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
KEPT = Path.home() / ".cache" / "retrospan-tests" / "clients"
#: Compiling the Rust crates took a quarter of this on two busy processors.
_MAKE_SECONDS = 600
_ASK_SECONDS = 180
Words = Sequence[str | Path]


def python_program(program: str, packages: Sequence[str]) -> Words:
    """The command of a program in Python, with the packages that it uses."""
    uv = shutil.which("uv") or str(TOP / ".uv/bin/uv")
    if not Path(uv).exists():
        pytest.skip("uv, which makes the clients' environments, is not here")

    def make(place: Path) -> None:
        # Its name does not matter later: a relocatable one is moved into place.
        _fetch(place, uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, place / "env")
        _fetch(place, uv, "pip", "install", "--quiet", "--python", place / "env/bin/python", *packages)

    place = _made(["python", sys.version, *packages], make)
    return [place / "env/bin/python", PROGRAMS / "python" / program]


def java_program() -> Words:
    """The command of the program in Java, with the driver of its `pom.xml`."""
    maven, compiler = _tool("mvn"), _tool("javac")

    def make(place: Path) -> None:
        _fetch(place, maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars")
        _build(place, compiler, "-cp", "jars/*", "Reads.java")

    place = _made_of("java", [_version(compiler, "-version")], make)
    return [_tool("java"), "-cp", f"{place}/jars/*:{place}", "Reads"]


def node_program(program: str = "reads.mjs") -> Words:
    """The command of a program for Node, with the packages of the lock beside it."""
    node, npm = _tool("node"), _tool("npm")
    _require(node, "20", "--version")

    def make(place: Path) -> None:
        _fetch(place, npm, "ci", "--silent", "--ignore-scripts")

    return [node, _made_of("node", [], make) / program]


def go_program() -> Words:
    """The command of the program in Go, with the modules of its `go.mod`."""
    return [_go("go") / "reads"]


def jaeger_program() -> Words:
    """The command of the program that reads with Jaeger's definitions and OpenTelemetry's Go."""
    return [_go("jaeger", "github.com/jaegertracing/jaeger-idl") / "reads"]


def _go(program: str, needed: str = "") -> Path:
    """The folder of a program in Go, built; its `module.txt` says where a module is that it reads files of."""
    go = _tool("go")
    _require(go, "1.26", "version")

    def make(place: Path) -> None:
        _fetch(place, go, "mod", "download", GOTOOLCHAIN="local")
        _build(place, go, "build", "-o", "reads", ".", GOTOOLCHAIN="local")
        if needed:
            (place / "module.txt").write_text(
                _run(place, [go, "list", "-m", "-f", "{{.Dir}}", needed], {}).stdout
            )

    return _made_of(program, [_version(go, "version")], make)


def rust_program() -> Words:
    """The command of the program in Rust, with the crates of its lock."""
    cargo = _tool("cargo")
    _require(cargo, "1.89", "--version")

    def make(place: Path) -> None:
        _fetch(place, cargo, "fetch", "--quiet", "--locked")
        _build(place, cargo, "build", "--quiet", "--locked", "--offline")

    return [_made_of("rust", [_version(cargo, "--version")], make) / "target/debug/reads"]


def told(words: Words, address: str) -> dict[str, str]:
    """What a program tells that reads from the SQL port at an address: what came, by the name of each check."""
    done = subprocess.run(
        [*map(str, words), address],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
        capture_output=True,
        text=True,
        timeout=_ASK_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # Some libraries greet on the standard output.
    lines = [line.partition("\t") for line in done.stdout.split("\n") if "\t" in line]
    assert len({name for name, _, _ in lines}) == len(lines), "every check has a name of its own"
    return {name: got for name, _, got in lines}


def _made(named: Sequence[str], make: Callable[[Path], None]) -> Path:
    """The folder of an environment, made if it is not there."""
    name = hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]
    place = KEPT / name
    if not (place / "done").exists():
        making = KEPT / f"{name}.{os.getpid()}"
        making.mkdir(parents=True)
        try:
            make(making)
            (making / "done").touch()
            making.rename(place)
        except OSError:
            if not (place / "done").exists():  # else another process was first
                raise
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return place


def _made_of(program: str, named: Sequence[str], make: Callable[[Path], None]) -> Path:
    """The same with a copy of the program's folder in it."""
    source = PROGRAMS / program
    texts = [
        f"{file.relative_to(source)}\n{file.read_text(encoding='utf-8')}"
        for file in sorted(source.rglob("*"))
        if file.is_file()
    ]

    def copy_and_make(place: Path) -> None:
        shutil.copytree(source, place, dirs_exist_ok=True)
        make(place)

    return _made([program, *named, *texts], copy_and_make)


def _tool(name: str) -> str:
    """A tool of a toolchain. Skips the test where it is not."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not here")
    return found


def _version(tool: str, *words: str) -> str:
    done = subprocess.run([tool, *words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _require(tool: str, oldest: str, *words: str) -> None:
    """Skip the test where a tool is older than what the client needs."""
    said = _version(tool, *words)
    found = re.search(r"(\d+)(?:\.(\d+))?", said)
    wanted = tuple(map(int, oldest.split(".")))
    if found is None or tuple(int(part or 0) for part in found.groups())[: len(wanted)] < wanted:
        pytest.skip(f"{Path(tool).name} {oldest} or later is needed; it is {said.strip()[:60]!r}")


def _fetch(place: Path, *words: str | Path, **environ: str) -> None:
    done = _run(place, words, environ)
    if done.returncode:
        pytest.skip(f"{' '.join(map(str, words))} failed: {(done.stderr or done.stdout).strip()[-200:]}")


def _build(place: Path, *words: str | Path, **environ: str) -> None:
    done = _run(place, words, environ)
    assert done.returncode == 0, done.stdout + done.stderr


def _run(
    place: Path, words: Sequence[str | Path], environ: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, words)],
        cwd=place,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=_MAKE_SECONDS,
        check=False,
    )
