"""The image: made of what is here, by nobody's root, and its build stage really builds.

There is no container engine in the tests: the second stage is read, not run.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from image.containerfile import TOP, build, instructions

PROJECT: dict[str, Any] = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LAST = max(one.stage for one in instructions())


def of_last_stage(word: str) -> list[str]:
    return [one.rest for one in instructions() if one.word == word and one.stage == LAST]


def test_instructions_are_known_ones_in_two_stages() -> None:
    known = {
        "ARG",
        "CMD",
        "COPY",
        "ENTRYPOINT",
        "ENV",
        "EXPOSE",
        "FROM",
        "RUN",
        "STOPSIGNAL",
        "USER",
        "VOLUME",
        "WORKDIR",
    }
    assert {one.word for one in instructions()} <= known
    assert LAST == 1
    for one in instructions():
        if one.word == "RUN":
            done = subprocess.run(["sh", "-n"], input=one.rest, text=True, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr


def test_the_python_is_one_that_the_project_is_for() -> None:
    (base,) = (one.rest.partition("=")[2] for one in instructions() if one.rest.startswith("BASE="))
    version = base.removeprefix("python:").removesuffix("-slim")
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


def test_every_stage_is_of_the_one_base_that_a_build_may_name_by_its_digest() -> None:
    first = instructions()[0]
    assert (first.stage, first.word, first.rest.partition("=")[0]) == (-1, "ARG", "BASE")
    assert [one.rest.split()[0] for one in instructions() if one.word == "FROM"] == ["${BASE}"] * 2


def test_what_is_fetched_is_pinned_by_hash() -> None:
    """By the list of tools and the lock file; nothing is asked for by name alone, or by an isolated build."""
    runs = [one.rest for one in instructions() if one.word == "RUN" and one.stage == 0]
    fetching = [run for run in runs if re.search(r"pip install|uv (sync|build|add|tool|run)", run)]
    assert len(fetching) == 3
    tools, locked, built = fetching
    assert "--require-hashes" in tools and "--requirement build-tools.txt" in tools
    assert "--frozen" in locked and "--no-install-project" in locked
    assert "--no-build-isolation" in built and "--offline" in built and "--no-deps" in built
    lines = (TOP / "build-tools.txt").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert {line.partition("==")[0] for line in pinned} >= {"uv", "hatchling"}
    assert all(
        re.fullmatch(r"[a-z0-9-]+==\S+( ;[^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})+", line) for line in pinned
    )
    locked_text = (TOP / "uv.lock").read_text(encoding="utf-8")
    assert re.search(r"^\s+\{ url = (?!.*hash = \"sha256:)", locked_text, re.MULTILINE) is None
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"pip install.*", makefile) == [
        "pip install --quiet --disable-pip-version-check --requirement build-tools.txt",
        (
            "pip install --quiet --require-hashes --only-binary :all: --python $(TOOLS)/bin/python "
            "--requirement compiled/build-tools.txt"
        ),
    ]


def test_what_is_copied_is_here_and_is_sent_to_the_builder() -> None:
    sent = {line[1:] for line in (TOP / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name
        for one in instructions()
        if one.word == "COPY" and not one.rest.startswith("--from")
        for name in one.rest.split()[:-1]
    }
    assert copied == sent
    assert all((TOP / name).exists() for name in copied)
    # What the wheel is made of, and no more.
    assert {name for name in copied if (TOP / name).is_dir()} == {"exporter", "ingest", "schemas", "queries"}


def test_it_runs_as_a_number_that_is_not_roots_in_its_directory() -> None:
    assert of_last_stage("USER") == ["10001:10001"]
    assert of_last_stage("WORKDIR") == of_last_stage("VOLUME") == ["/var/lib/retrospan"]
    # Closed to others. What is made in there closes itself, whatever the umask of the engine of containers is.
    assert any("--mode 0700 /var/lib/retrospan" in run for run in of_last_stage("RUN"))
    assert json.loads(of_last_stage("ENTRYPOINT")[0]) == ["retrospan"]
    assert set(of_last_stage("EXPOSE")[0].split()) == {"4317", "4318", "8123"}


def test_chart_and_image_agree() -> None:
    helpers = (TOP / "helm/retrospan/templates/_helpers.tpl").read_text(encoding="utf-8")
    user = of_last_stage("USER")[0].partition(":")[0]
    values = yaml.safe_load((TOP / "helm/retrospan/values.yaml").read_text(encoding="utf-8"))
    assert str(values["user"]) == user
    block = helpers.partition("{{- with int .Values.user }}")[2].partition("{{- end }}")[0]
    assert re.findall(r"(runAsUser|runAsGroup|fsGroup): {{ \. }}", block) == [
        "runAsUser",
        "runAsGroup",
        "fsGroup",
    ]
    built = (TOP / "Containerfile").read_text(encoding="utf-8")
    assert f"{values['image']['repository']}:{PROJECT['version']}-{values['mode']} ." in built
    assert {"embedded", "server"} <= set(PROJECT["optional-dependencies"])


@pytest.mark.soak
@pytest.mark.parametrize("parts", ["server", "embedded"])
def test_the_build_stage_builds(tmp_path: Path, parts: str) -> None:
    program = build(tmp_path, parts)
    shutil.rmtree(tmp_path / "src")  # what was built needs none of it
    said = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True)
    assert PROJECT["version"] in said.stdout
    has_engine = subprocess.run(
        [str(program.with_name("python")), "-c", "import chdb"], capture_output=True, check=False
    )
    assert (has_engine.returncode == 0) == (parts == "embedded")
    serve = [
        str(program),
        "serve",
        "--data",
        str(tmp_path / "data"),
        "--warehouse",
        "clickhouse://127.0.0.1:1/retrospan",
    ]
    if parts == "server":
        # Without a server it accepts all the same.
        with subprocess.Popen(
            [*serve, "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--sql", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            ready = process.stdout.readline()
            process.kill()
        assert ready.startswith("ready grpc=")
