"""Confine this process and become another one: `python confining.py DIRECTORY PROGRAM WORDS…`.

The environment is left behind. Connections and ports stay open to it: it is a whole collector.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from retrospan.ingest.confinement import DEVICES, SYSTEM_PLACES, confine, python_places, python_programs

directory = Path(sys.argv[1])
confine(
    # The checkout is where the packages of a worktree lie; the rest of what a test may show must not be read.
    readable=[
        *python_places(),
        *SYSTEM_PLACES,
        *(Path(word) for word in sys.argv[2:] if word.endswith(".toml")),
    ],
    writable=[directory, *DEVICES],
    executable=python_programs(),
    network=True,
)
os.chdir("/")  # the engine would read a configuration from where it is, and from its home
os.execve(sys.argv[2], sys.argv[2:], {"TMPDIR": str(directory), "HOME": "/nonexistent"})
