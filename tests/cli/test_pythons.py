"""The wheel in an empty environment of each Python that pyproject.toml names, as far as they are on this machine.

The next one is tried too: it is named once this test was run with it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMED = [
    found[1]
    for each in PROJECT["classifiers"]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each))
]
TRIED = [*NAMED, f"3.{int(NAMED[-1].partition('.')[2]) + 1}"]


@pytest.fixture(scope="module")
def uv() -> str:
    found = shutil.which("uv") or str(TOP / ".uv/bin/uv")
    if not Path(found).exists():
        pytest.skip("uv, which builds the wheel, is not here")
    return found


@pytest.fixture(scope="module")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", str(place), str(TOP)], check=True)
    return next(place.glob("*.whl"))


def python(version: str) -> str:
    """An interpreter of this version. Skips the test where there is none."""
    kept = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, kept)):
        if candidate is None:
            continue
        asked = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == version:
            return candidate
    pytest.skip(f"Python {version} is not here")


def test_the_oldest_that_is_named_is_the_oldest_that_is_needed() -> None:
    assert PROJECT["requires-python"] == f">={NAMED[0]}"


@pytest.mark.long
@pytest.mark.parametrize("version", TRIED)
def test_the_wheel_and_its_extras_work(version: str, uv: str, wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "env"
    subprocess.run([uv, "venv", "--quiet", "--python", python(version), str(place)], check=True)

    def install(extras: str) -> None:
        words = [uv, "pip", "install", "--quiet", "--only-binary", ":all:", "--python", f"{place}/bin/python"]
        subprocess.run([*words, f"{wheel}{extras}"], check=True, timeout=300)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [f"{place}/bin/retrospan", *words],
            cwd=tmp_path,
            env={},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def imports(module: str) -> bool:
        words = [f"{place}/bin/python", "-c", f"import {module}"]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    install("")
    assert run().returncode == 0
    assert run("demo").stderr.endswith('Install it with: pip install "retrospan[embedded]"\n')
    assert imports("retrospan.exporter")
    assert not imports("grpc")
    install("[grpc]")
    assert imports("grpc")
    install("[server]")
    without_engine = run("serve", "--data", "data")
    assert without_engine.returncode == 2
    assert without_engine.stderr.endswith('Install it with: pip install "retrospan[embedded]"\n')
    install("[embedded]")
    shown = run("demo")
    assert shown.returncode == 0, shown.stderr
    assert "$ retrospan runs" in shown.stdout


@pytest.mark.parametrize(
    "platform",
    [
        pytest.param("aarch64-apple-darwin", marks=pytest.mark.long),
        *(
            pytest.param(platform, marks=pytest.mark.soak)
            for platform in ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "x86_64-apple-darwin")
        ),
    ],
)
def test_every_dependency_has_a_wheel(platform: str, uv: str) -> None:
    extras = [word for extra in ("embedded", "frames", "grpc", "otlp") for word in ("--extra", extra)]
    for version in TRIED:
        words = [uv, "pip", "compile", "--quiet", "--no-header", "--only-binary", ":all:", *extras]
        done = subprocess.run(
            [*words, "--python-version", version, "--python-platform", platform, "pyproject.toml"],
            cwd=TOP,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, (version, done.stderr[-1000:])
        assert "chdb-core==" in done.stdout
