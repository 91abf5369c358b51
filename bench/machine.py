"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("chdb-core", "grpcio", "opentelemetry-proto", "protobuf", "uvicorn", "h11")


def describe(place: Path) -> dict[str, str]:
    """Return facts by name; `place` is where the measurements write."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "Date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Version": _revision(),
        "Processor": f"{_processor()}, {os.cpu_count()} cores",
        "Memory": f"{memory / 2**30:.1f} GiB",
        "Disk": _disk(place),
        "System": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _disk(place: Path) -> str:
    """The device and file system that hold the path, and of what kind the device says it is."""
    mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = [str(parent) for parent in (place.resolve(), *place.resolve().parents)]
    found = [mount for mount in mounts if mount[1] in above]
    device, _, kind = max(found, key=lambda mount: len(mount[1]), default=["unknown", "", "unknown"])
    return f"{device}, {kind}, {_kind_of_disk(device, os.stat(place).st_dev)}"


def _kind_of_disk(device: str, number: int) -> str:
    if device.startswith(("/dev/vd", "/dev/xvd")):
        return "virtual"  # its word on whether it turns means nothing
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    # A partition has its queue at the device above it.
    for queue in (block / "queue/rotational", block.parent / "queue/rotational"):
        if queue.exists():
            return "rotational" if queue.read_text().strip() == "1" else "solid state"
    return "kind unknown"


def _revision() -> str:
    words = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=Path(__file__).parent)
    return f"retrospan {version('retrospan')}, {done.stdout.strip() or 'no commit known'}"
