"""Helm's library and the schemas of Kubernetes: fetched once from the package registry, pinned, kept in the cache.

Neither is a dependency of the tests' environment: one asks for a later Python than ours, though nothing of its Python
is used, and of the other two files out of hundreds are wanted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
HELM = "helm-sdkpy==0.1.32"
SCHEMAS = "kubernetes-validate==1.37.0"
HASHES = {
    HELM: "bcf5bf73cacc373bebedfb9c988969aa12a9eda86a140deba658fbf28eb789c5",
    SCHEMAS: "85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9",
}
_LIBRARY = "helm_sdkpy/_lib/linux-amd64/libhelm_sdkpy.so"
#: The oldest and the newest version of Kubernetes that the chart is for.
VERSIONS = ("1.30", "1.37")


def helm_library() -> Path:
    """Helm as a shared library."""
    if os.uname().machine != "x86_64":
        pytest.skip(f"there is no Helm library for {os.uname().machine}")
    return _fetched(HELM, [_LIBRARY]) / _LIBRARY


def kubernetes_schemas() -> dict[str, Path]:
    """The strict definitions of each version."""
    folder = "kubernetes_validate/kubernetes-json-schema"
    files = {version: f"{folder}/v{version}.0-local-strict/_definitions.json" for version in VERSIONS}
    place = _fetched(SCHEMAS, list(files.values()))
    return {version: place / file for version, file in files.items()}


def _fetched(requirement: str, files: Sequence[str]) -> Path:
    """A directory with these files of a package; skips with the reason where it cannot be had."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "retrospan-tests"
    place = caches / requirement.replace("==", "-")
    if all((place / file).exists() for file in files):
        return place
    uv = shutil.which("uv") or str(TOP / ".uv" / "bin" / "uv")
    if not Path(uv).exists():
        pytest.skip(f"uv is not here, so {requirement} cannot be fetched")
    caches.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=caches) as directory:
        listed = Path(directory) / "requirements.txt"
        listed.write_text(f"{requirement} --hash=sha256:{HASHES[requirement]}\n")
        whole, kept = Path(directory) / "whole", Path(directory) / "kept"
        words = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--python-version", "3.13"]
        done = subprocess.run(
            [uv, "pip", "install", "--quiet", *words, "--target", str(whole), "-r", str(listed)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode != 0:
            assert "hash" not in done.stderr.lower(), done.stderr
            pytest.skip(f"{requirement} cannot be fetched here: {done.stderr[-400:]}")
        for file in files:
            (kept / file).parent.mkdir(parents=True, exist_ok=True)
            (whole / file).replace(kept / file)
        shutil.rmtree(place, ignore_errors=True)
        kept.replace(place)
    return place
