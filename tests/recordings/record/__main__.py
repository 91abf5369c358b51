"""Record a framework: install it, play the scenarios, keep what it exported and what was true, print the score."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from recordings.record.environments import environment as made_for
from recordings.record.frameworks import FRAMEWORKS
from recordings.record.scenarios import SCENARIOS
from recordings.record.score import print_scores
from recordings.record.takes import keep, play

TAKEN = Path(__file__).resolve().parents[1] / "taken"


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 when a take came to nothing."""
    parser = argparse.ArgumentParser(prog="python -m recordings.record", description=__doc__)
    parser.add_argument("framework", choices=sorted(FRAMEWORKS))
    parser.add_argument("scenarios", nargs="*", help="those of the framework when none is named")
    parser.add_argument("--at", metavar="VERSION", help="of the framework, instead of the newest")
    parser.add_argument("--to", type=Path, default=TAKEN, help="the folder to keep the takes in")
    parser.add_argument("--as", dest="name", help="the name to keep them under, instead of the framework's")
    parser.add_argument("--keep-environment", action="store_true", help="do not install when it is there")
    parser.add_argument(
        "--percent-only", action="store_true", help="say nothing about the facts that are missed"
    )
    parser.add_argument(
        "--no-score", action="store_true", help="record only: compare nothing, print no score"
    )
    options = parser.parse_args(arguments)
    framework = FRAMEWORKS[options.framework]
    for scenario in options.scenarios:
        if scenario not in SCENARIOS:
            parser.error(f"{scenario} is not a scenario: {', '.join(SCENARIOS)}")
    environment = made_for(options.framework, framework, options.at)
    if not (options.keep_environment and environment.folder.exists()):
        environment.install()
    versions = environment.versions()
    name = options.name or options.framework
    kept, failed = [], False
    for scenario in options.scenarios or framework.scenarios:
        take = play(SCENARIOS[scenario], framework, environment)
        calls = sum(line["kind"] == "llm" for line in take.truth)
        if not take.requests.get("traces") or not calls:
            print(f"{name}/{scenario}: {calls} model calls, no spans; the driver said:\n{take.said}")
            failed = True
            continue
        if take.exit_code and scenario != "llm_error":
            print(f"{name}/{scenario}: the driver ended with {take.exit_code}:\n{take.said}")
        keep(take, name, versions, options.to)
        kept.append(f"{name}/{scenario}")
        print(f"{name}/{scenario}: {calls} model calls" + "".join(f"; {d}" for d in take.deviations()))
    if not options.no_score:
        print_scores(options.to, kept, percent_only=options.percent_only)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
