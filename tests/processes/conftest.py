"""The benchmark is run from the top of the repository and is not part of the distribution."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
