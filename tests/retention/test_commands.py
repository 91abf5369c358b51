"""The commands against a real collector: flag, hold, retention, verify."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fix_collector import Served
from keeping import KINDS, agent_run, trace_of

TAMPER = """
import sys
from pathlib import Path
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
store = warehouse.connect()
store.command("ALTER TABLE loaded_batches UPDATE items = items + 1 WHERE number = 1", {}, {"mutations_sync": 1})
warehouse.close()
"""


@pytest.mark.long
def test_the_commands_of_a_collector(served: Served, tmp_path: Path) -> None:
    served.send([agent_run(f"{kind}-0", kind) for kind in KINDS])
    served.wait_idle()
    ok, error = trace_of("ok-0"), trace_of("error-0")

    assert served.run("flag", ok, "--reason", "odd") == f"run {ok} is flagged\n"
    assert served.run("hold", error[:12]) == f"run {error} is held until that is lifted\n"
    said = json.loads(served.run("hold", trace_of("test-0"), "--until", "2250-01-01", "--json"))
    assert (said["mark"], said["set"], said["until"]) == ("hold", True, 8_835_955_200 * 10**9)
    marked = served.rows(
        "SELECT run_id, flagged, held FROM runs WHERE run_id != {own:String}", own=trace_of("flagged-0")
    )
    assert {row["run_id"] for row in marked if row["flagged"]} == {ok}
    assert {row["run_id"] for row in marked if row["held"]} == {error, trace_of("test-0")}

    lines = [
        json.loads(line)
        for line in served.run("retention", "plan", "--at", "2240-01-01", "--json").splitlines()
    ]
    due = {run for line in lines if "due" in line for run in line["due"]["runs"]}
    assert due == {trace_of(f"{kind}-0") for kind in KINDS} - {
        error,
        trace_of("test-0"),
        trace_of("golden-0"),
    }
    groups = {group["class"]: group for group in lines[-2]["summary"]["groups"]}
    assert set(groups) == {"incomplete", "flagged", "eval", "demo", "other"}
    assert groups["flagged"]["runs"] == 2 and groups["eval"]["spans"] == 2
    assert "would go: 0 runs under the defaults\n" in served.run("retention", "plan")
    assert "deleted: 0 runs under the defaults\n" in served.run("retention", "apply")

    said = served.run("retention", "plan", "--at", "2240-01-01")
    [plan] = [line.split()[-1] for line in said.splitlines() if line.startswith("to delete just that: ")]
    assert "last arrival (UTC)" in said
    assert plan.startswith("8520336000000000000-6-")
    for words in (("apply", "--plan", plan), ("apply", "--plan", plan[:-1]), ("plan", "--plan", plan)):
        assert served.run("retention", *words, code=2) == ""

    policy = tmp_path / "keep.toml"
    policy.write_text('[keep]\nok = "7d"\n\n[[rule]]\nkeep = "1d"\n')
    refused = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "retention", "apply", "--policy", str(policy)],
        env={"RETROSPAN_URL": f"http://{served.sql}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert f"{policy} line 4: this rule matches every run" in refused.stderr

    assert "batches" in served.run("verify")
    served.stop()
    subprocess.run([sys.executable, "-c", TAMPER, str(served.data / "warehouse")], check=True)
    served.start()
    said = served.run("verify", "--json", code=1)
    wrong = next(json.loads(line) for line in said.splitlines() if json.loads(line)["wrong"])
    assert (wrong["chain"], wrong["at"]) == ("batches", 1)
    assert "was changed" in wrong["wrong"]


def test_a_policy_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path) -> None:
    policy = tmp_path / "keep.toml"
    policy.write_text('[keep]\nokay = "7d"\n')
    words = ["serve", "--data", str(tmp_path / "data"), "--grpc", ":0", "--http", ":0", "--sql", ":0"]
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        env={"RETROSPAN_RETENTION_POLICY": str(policy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "keep.toml line 2: unknown class 'okay'; did you mean 'ok'" in done.stderr
