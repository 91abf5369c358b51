"""Write released.json: what the objects of this release were made with. Run it once the release is out.

.venv/bin/python tests/chart/record.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml
from chart.conftest import VALUES
from chart.fetched import helm_library
from chart.helm import CHART, Helm
from chart.test_chart import RELEASED, kept


def main() -> None:
    helm = Helm(helm_library())
    release = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["version"]
    found = {case: kept(helm.install(values)) for case, values in VALUES.items()}
    helm.close()
    RELEASED.write_text(json.dumps({"release": release, "settled": found}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
