"""Replays the kit's drivers from what they once exported, with the network forbidden, and prints how it went.

    PYTHONPATH=tests .venv/bin/python -m recordings.replayed            # every framework that can be replayed
    PYTHONPATH=tests .venv/bin/python -m recordings.replayed langtrace
    PYTHONPATH=tests .venv/bin/python -m recordings.replayed --from FOLDER smolagents    # recorded there by `make record`

Each driver runs in an environment of its own, at the versions of the recording. What it is answered comes from the
recording's own OTLP and nothing else: the model server of the kit does not run, and the tools must not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from fix_collector import Served
from fix_recordings import TAKEN, Recording, read_recording
from recordings.bundles import bundle_of_recording, serving
from recordings.record.environments import DRIVERS, TOP
from recordings.record.framework import Framework
from recordings.record.frameworks import FRAMEWORKS

from retrospan.exporter.replay.starting import read_report, variables
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import Bundle

ENVIRONMENTS = Path(gettempdir()) / "retrospan-replayed"
TOOLS = tuple(f"shop:{name}" for name in ("search_docs", "get_weather", "update_record", "send_email"))
#: Where no model is: what is not answered from the record comes to nothing.
NOWHERE = "http://model.invalid"


@dataclass(frozen=True)
class Replayed:
    """One recording, replayed."""

    name: str
    model_calls: int
    answered: int
    tool_calls: int
    results: int
    ran: int
    """Tools that ran after all: there must be none."""
    same_answer: bool
    verdict: str
    why: str

    @property
    def is_whole(self) -> bool:
        """Whether the run was the recorded one to its end, and touched nothing."""
        return self.verdict == "identical" and self.same_answer and not self.ran


def entries(folder: Path = TAKEN) -> dict[str, dict[str, Any]]:
    """Return every recording of a folder that has a driver in Python here: by its name its entry."""
    listed = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["recordings"]
    return {
        f"{entry['framework']}/{entry['scenario']}": entry
        for entry in listed
        if entry["framework"] in FRAMEWORKS and FRAMEWORKS[entry["framework"]].driver.endswith(".py")
    }


def environment(name: str, framework: Framework, versions: Mapping[str, str]) -> Path:
    """Return the Python of an environment with the framework at the recorded versions, made when it is not there."""
    folder = ENVIRONMENTS / name
    python = folder / "bin/python"
    done = folder / "installed"
    if done.exists():
        return python
    named = {
        package.partition("[")[0].split(">")[0].split("<")[0].split("=")[0] for package in framework.packages
    }
    pins = [f"{package}=={version}" for package, version in versions.items()]
    extras = [package for package in framework.packages if "[" in package]
    rest = [package for package in framework.packages if package in named - versions.keys()]
    uv = str(TOP / ".uv/bin/uv")
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
    _run(uv, "pip", "install", "--quiet", "--python", str(python), *pins, *extras, *rest)
    done.touch()
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-600:])


def play(recording: Recording, framework: Framework, python: Path, bundle: Bundle) -> Replayed:
    """Run the driver of a recording against its own record."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        file, report, truth = folder / "run.bundle", folder / "report.json", folder / "truth.jsonl"
        write_bundle(file, bundle)
        truth.touch()
        how = {"source": str(file), "tools": TOOLS}
        told = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
            **variables({}, how, report, None),
            "HOME": place,
            # One of them leaves without the interpreter's end.
            "PYTHONUNBUFFERED": "1",
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "none"),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_BASE_URL": f"{NOWHERE}/v1",
            "ANTHROPIC_BASE_URL": NOWHERE,
            "KIT_MODEL": framework.request_model,
            "KIT_MODEL_URL": NOWHERE,
            "KIT_SCENARIO": recording.name.rpartition("/")[2],
            "KIT_TURNS": json.dumps(recording.expected["user_turns"]),
            "KIT_TRUTH": str(truth),
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.invalid:4318",
            "OTEL_EXPORTER_OTLP_PROTOCOL": framework.protocol,
            **framework.settings,
        }
        try:
            done = subprocess.run(
                [str(python), str(DRIVERS / framework.driver)],
                check=False,
                env=told,
                cwd=place,
                capture_output=True,
                text=True,
                timeout=120,
            )
            said, trouble = done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            said, trouble = str(late.stdout or ""), "it took more than two minutes"
        ran = len(truth.read_text(encoding="utf-8").splitlines())
        return _told(recording, bundle, read_report(report), said, trouble, ran)


def _told(
    recording: Recording,
    bundle: Bundle,
    report: tuple[dict[str, object], Sequence[str]] | None,
    said: str,
    trouble: str,
    ran: int,
) -> Replayed:
    answers = [answer for answer in recording.expected["final_answers"] if answer]
    models = sum(len(run.model_calls()) for run in bundle.runs)
    tools = sum(len(run.tool_calls()) for run in bundle.runs)
    if report is None:
        last = trouble.strip().splitlines()[-1:] or ["it wrote no report"]
        return Replayed(recording.name, models, 0, tools, 0, ran, False, "none", last[0][:160])
    found, lines = report
    why = str(found["miss"] or "")
    if not why and found["verdict"] != "identical":
        why = "; ".join([*(text.strip() for text in lines[1:2]), *_last_error(trouble)])
    return Replayed(
        name=recording.name,
        model_calls=models,
        answered=len(_listed(found["model_calls_answered"])),
        tool_calls=tools,
        results=len(_listed(found["tool_calls_answered"])),
        ran=ran,
        same_answer=all(answer in said for answer in answers),
        verdict=str(found["verdict"]),
        why=why,
    )


def _last_error(trouble: str) -> list[str]:
    """Return the last line of what a driver said that begins at the margin, as an error does."""
    return [text[:300] for text in trouble.splitlines() if text[:1].strip()][-1:]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m recordings.replayed", description=__doc__)
    parser.add_argument("wanted", nargs="*", help="frameworks, or recordings; all when none is named")
    parser.add_argument(
        "--from", dest="folder", type=Path, default=TAKEN, help="the folder of the recordings"
    )
    options = parser.parse_args(arguments)
    wanted, results = options.wanted, list[Replayed]()
    with serving() as served:
        for name, entry in entries(options.folder).items():
            if wanted and not any(name == each or name.startswith(f"{each}/") for each in wanted):
                continue
            found = replayed(served, entry, options.folder)
            if isinstance(found, str):
                print(f"| {name} | not installed: {found} |", flush=True)
                continue
            results.append(found)
            print(line(found), flush=True)
    whole = sum(each.is_whole for each in results)
    print(f"{whole} of {len(results)} recordings were replayed whole")
    return 0 if whole == len(results) else 1


def replayed(served: Served, entry: Mapping[str, Any], folder: Path = TAKEN) -> Replayed | str:
    """Replay one recording; return why not, where its framework cannot be installed here."""
    recording, framework = read_recording(folder, dict(entry)), FRAMEWORKS[entry["framework"]]
    try:
        python = environment(entry["framework"], framework, entry["versions"])
    except RuntimeError as error:
        return str(error).splitlines()[-1]
    return play(recording, framework, python, bundle_of_recording(served, recording))


def line(found: Replayed) -> str:
    """Return the line of the table for one recording."""
    cells = (
        found.name,
        f"{found.answered} of {found.model_calls}",
        f"{found.results} of {found.tool_calls}",
        str(found.ran),
        "yes" if found.same_answer else "no",
        found.verdict,
        found.why.replace("|", "¦").replace("\n", " "),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
