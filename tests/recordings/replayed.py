"""Replays the kit's drivers from what they once exported, with the network forbidden, and prints how it went.

    PYTHONPATH=tests .venv/bin/python -m recordings.replayed            # every framework that can be replayed
    PYTHONPATH=tests .venv/bin/python -m recordings.replayed langtrace
    PYTHONPATH=tests .venv/bin/python -m recordings.replayed --part 1/2    # half of them; the other process does 2/2
    PYTHONPATH=tests .venv/bin/python -m recordings.replayed --from FOLDER smolagents    # recorded there by `make record`

Each driver runs in an environment of its own, at the versions of the recording: the packages come over the network, the
replay is refused it. What a driver is answered comes from the recording's own OTLP and nothing else: the model server of
the kit does not run, and the tools must not. The last lines count, and say what was not whole and why. The exit code is
0 if all were replayed whole but those of not_whole.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from fix_collector import Served
from fix_recordings import TAKEN, Recording, read_recording
from recordings.bundles import bundle_of_recording, serving
from recordings.record.environments import DRIVERS, find_uv
from recordings.record.framework import Framework
from recordings.record.frameworks import FRAMEWORKS

from retrospan.exporter.replay.starting import read_report, variables
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import Bundle

ENVIRONMENTS = Path(gettempdir()) / "retrospan-replayed"
TOOLS = tuple(f"shop:{name}" for name in ("search_docs", "get_weather", "update_record", "send_email"))
#: What is known not to be replayed whole, and why.
NOT_WHOLE = Path(__file__).with_name("not_whole.toml")
#: Drivers of these start a program that asks the model itself.
_PROGRAMS = ("claude-agent-sdk",)
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


def framework_of(name: str) -> Framework | None:
    """Return what recordings of a name were made with, if it is driven in Python: `smolagents.kit` is of smolagents."""
    framework = FRAMEWORKS.get(name) or FRAMEWORKS.get(name.rpartition(".")[0])
    return framework if framework is not None and framework.driver.endswith(".py") else None


def entries(folder: Path = TAKEN) -> dict[str, dict[str, Any]]:
    """Return every recording of a folder that can be replayed: by its name its entry.

    Programs that are started beside Python are not: nothing answers them.
    """
    listed = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["recordings"]
    return {
        f"{entry['framework']}/{entry['scenario']}": entry
        for entry in sorted(listed, key=lambda entry: str(entry["framework"]))
        if framework_of(entry["framework"]) and not entry["framework"].startswith(_PROGRAMS)
    }


def known_not_whole() -> dict[str, str]:
    """Return the recordings that are known not to be replayed whole, each with the reason."""
    listed = tomllib.loads(NOT_WHOLE.read_text(encoding="utf-8"))["recordings"]
    return {
        f"{each['framework']}/{scenario}": each["reason"] for each in listed for scenario in each["scenarios"]
    }


def environment(name: str, framework: Framework, versions: Mapping[str, str]) -> Path:
    """Return the Python of an environment with the framework at the recorded versions, made when it is not there."""
    folder = ENVIRONMENTS / name
    python = folder / "bin/python"
    done, told = folder / "installed", json.dumps(versions, sort_keys=True)
    if done.exists() and done.read_text(encoding="utf-8") == told:
        return python
    named = {
        package.partition("[")[0].split(">")[0].split("<")[0].split("=")[0] for package in framework.packages
    }
    pins = [f"{package}=={version}" for package, version in versions.items()]
    extras = [package for package in framework.packages if "[" in package]
    rest = [package for package in framework.packages if package in named - versions.keys()]
    uv = find_uv()
    _run(uv, "venv", "--quiet", "--clear", "--python", framework.python or sys.executable, str(folder))
    _run(uv, "pip", "install", "--quiet", "--python", str(python), *pins, *extras, *rest)
    done.write_text(told, encoding="utf-8")
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
    parser = argparse.ArgumentParser(
        prog="python -m recordings.replayed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("wanted", nargs="*", help="frameworks, or recordings; all when none is named")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), metavar="N/M", help="one of M parts, for M processes"
    )
    parser.add_argument(
        "--from", dest="folder", type=Path, default=TAKEN, help="the folder of the recordings"
    )
    options = parser.parse_args(arguments)
    listed = chosen(entries(options.folder), options.wanted, *options.part)
    results, missing = list[Replayed](), dict[str, str]()
    with serving() as served:
        for place, (name, entry) in enumerate(listed.items(), start=1):
            print(f"{place} of {len(listed)}: {name}", file=sys.stderr, flush=True)
            found = replayed(served, entry, options.folder)
            if isinstance(found, str):
                missing[name] = f"not installed: {found}"
                print(f"| {name} | {missing[name]} |", flush=True)
            else:
                results.append(found)
                print(line(found), flush=True)
    return summed_up(results, missing)


def _part(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text} is not one of so many parts, as 1/2 is")
    return int(found[1]), int(found[2])


def chosen(
    listed: Mapping[str, dict[str, Any]], wanted: Sequence[str], number: int, parts: int
) -> dict[str, dict[str, Any]]:
    """Return the recordings that are asked for, of every so many frameworks one: each has its environment."""
    found = {
        name: entry
        for name, entry in listed.items()
        if not wanted or any(name == each or name.startswith(f"{each}/") for each in wanted)
    }
    order = {
        framework: place
        for place, framework in enumerate(dict.fromkeys(e["framework"] for e in found.values()))
    }
    return {name: entry for name, entry in found.items() if order[entry["framework"]] % parts == number - 1}


def summed_up(results: Sequence[Replayed], missing: Mapping[str, str]) -> int:
    """Print what came of all recordings, and return the exit code."""
    known = known_not_whole()
    fallen = {each.name: each.why or each.verdict for each in results if not each.is_whole} | {**missing}
    for name, why in fallen.items():
        print(f"not whole: {name}: {known.get(name) or f'NOT KNOWN: {why}'}")
    mended = [each.name for each in results if each.is_whole and each.name in known]
    for name in mended:
        print(f"whole now, to be struck off {NOT_WHOLE.name}: {name}")
    print(
        f"{len(results)} recordings of {len({each.name.partition('/')[0] for each in results})} frameworks replayed: "
        f"{sum(each.is_whole for each in results)} whole; "
        f"{sum(each.answered for each in results)} of {sum(each.model_calls for each in results)} model calls and "
        f"{sum(each.results for each in results)} of {sum(each.tool_calls for each in results)} tool calls answered, "
        f"{sum(each.ran for each in results)} tools ran; {len(missing)} not installed; "
        f"{len(fallen.keys() - known.keys())} not whole without a known reason"
    )
    return 0 if fallen.keys() <= known.keys() and not mended else 1


def replayed(served: Served, entry: Mapping[str, Any], folder: Path = TAKEN) -> Replayed | str:
    """Replay one recording; return why not, where its framework cannot be installed here."""
    recording, framework = read_recording(folder, dict(entry)), framework_of(entry["framework"])
    assert framework is not None
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
