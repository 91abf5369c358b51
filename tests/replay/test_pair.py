"""Two runs of one driver that part at the third answer of the model: on each record it takes that record's way, every time.

Recorded here by the kit, and replayed from what was stored, by the command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fix_collector import Served
from recordings.bundles import serving
from recordings.record.environments import DRIVERS
from recordings.record.frameworks import FRAMEWORKS
from recordings.record.scenarios import Call, Scenario, Step, Turn
from recordings.record.takes import play_command
from recordings.replayed import NOWHERE, TOOLS, environment

from retrospan.schemas.bundle.container import read_bundle

pytestmark = [pytest.mark.soak, pytest.mark.engine]
FRAMEWORK = FRAMEWORKS["pydantic-ai"]
QUESTION = "Should order O-77 to Oslo ship today? Decide and act."
_FIRST = (
    Step(calls=(Call("search_docs", {"query": "shipping rules Oslo", "top_k": 2}),)),
    Step(calls=(Call("get_weather", {"city": "Oslo"}),)),
)
WAYS = {
    "hold": (
        Call("update_record", {"record_id": "O-77", "field": "status", "value": "held"}),
        "O-77 is held today because of snow in Oslo.",
    ),
    "ask": (
        Call("send_email", {"to": "ops@example.com", "subject": "Confirm O-77", "body": "Ship O-77 today?"}),
        "I asked ops@example.com to confirm O-77.",
    ),
}
TIMES = 100


@pytest.fixture(scope="module")
def collector() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def driver() -> list[str]:
    try:
        python = environment("pair", FRAMEWORK, {})
    except RuntimeError as error:
        pytest.skip(f"its framework cannot be installed here: {error}")
    return [str(python), str(DRIVERS / FRAMEWORK.driver)]


@pytest.fixture(scope="module")
def bundles(
    collector: Served, driver: list[str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The file of each way, written by `retrospan bundle` from what the driver exported."""
    place, found = tmp_path_factory.mktemp("pair"), dict[str, Path]()
    for way, (call, answer) in WAYS.items():
        scenario = Scenario(way, (Turn(QUESTION, (*_FIRST, Step(calls=(call,)), Step(answer))),))
        take = play_command(scenario, FRAMEWORK, driver, 180)
        assert take.exit_code == 0 and not take.deviations(), take.said
        collector.send(take.requests["traces"], take.requests.get("logs", ()))
        collector.wait_idle()
        found[way] = place / f"{way}.bundle"
        done = retrospan("bundle", "last", "--out", str(found[way]), RETROSPAN_URL=f"http://{collector.sql}")
        assert "all 7 calls" in done.stdout, done.stdout + done.stderr
    return found


def retrospan(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        env={"PATH": os.environ["PATH"], "NO_COLOR": "1", **environ},
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip


def test_each_way_is_taken_a_hundred_times_of_a_hundred(
    bundles: dict[str, Path], driver: list[str], tmp_path: Path
) -> None:
    assert [run.question for file in bundles.values() for run in read_bundle(file).runs] == [QUESTION] * 2
    tools = [word for name in TOOLS for word in ("--tool", name)]

    def once(number: int) -> tuple[str, int, str, str, int]:
        way, place = [*bundles][number % 2], tmp_path / str(number)
        place.mkdir()
        truth, report = place / "truth.jsonl", place / "report.json"
        truth.touch()
        done = retrospan(
            "replay", str(bundles[way]), *tools, "--report", str(report), "--", *driver,
            HOME=str(place),
            OPENAI_API_KEY="none",
            OPENAI_BASE_URL=f"{NOWHERE}/v1",
            KIT_MODEL=FRAMEWORK.request_model,
            KIT_MODEL_URL=NOWHERE,
            KIT_SCENARIO=way,
            KIT_TURNS=json.dumps([QUESTION]),
            KIT_TRUTH=str(truth),
            OTEL_EXPORTER_OTLP_ENDPOINT="http://collector.invalid:4318",
            OTEL_EXPORTER_OTLP_PROTOCOL=FRAMEWORK.protocol,
            **FRAMEWORK.settings,
        )  # fmt: skip
        verdict = done.stderr if done.returncode else json.loads(report.read_text())["verdict"]
        return way, done.returncode, verdict, done.stdout.strip(), len(truth.read_text())

    with ThreadPoolExecutor(2) as pool:
        found = [*pool.map(once, range(2 * TIMES))]
    for way, (_, answer) in WAYS.items():
        of_way = [each[1:] for each in found if each[0] == way]
        assert of_way == [(0, "identical", answer, 0)] * TIMES
