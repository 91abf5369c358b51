"""`retrospan torture`: kills a collector repeatedly, and checks whether it kept its promises."""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_color_flag, number
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.schemas.errors import ConfigError

if TYPE_CHECKING:
    from retrospan.torture.session import Verdict

HELP = Help(
    job="Kill a temporary collector repeatedly while exporters send, and check what was kept.",
    exits="0 every promise held, 1 a promise was broken, 2 wrong use or trouble",
    examples=("retrospan torture", "retrospan torture --seed 7 --minutes 10 --data /mnt/disk/torture"),
    more="First a log is played through power cuts on a simulated disk. Then 8 exporters (gRPC and HTTP) send numbered\n"
    "spans to a collector on free ports, which is killed with kill -9, at random moments and at named points such as\n"
    "half-way through a write, and restarted. At the end every acknowledged span must be stored once, and\n"
    "sent = stored + rejected + refused.",
)
LIVES = 100


def add_arguments(parser: Parser) -> None:
    add = parser.flags.add_argument
    add("--seed", type=number(0), metavar="N", help="the seed for all random choices (a new one, printed)")
    add("--minutes", type=_minutes, default=1.0, metavar="M", help="how long to run (1)")
    add(
        "--data", metavar="DIR",
        help="an empty or new directory on the disk to test, which is kept (a temporary one, kept only if a "
        "promise was broken)",
    )  # fmt: skip
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    # Imported here: commands that only ask load nothing of it.
    from retrospan.ingest.machine.privacy import close_to_others

    close_to_others()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else int(arguments.seed)
    screen = Screen.open(arguments.color)
    if arguments.data is not None:
        directory = Path(arguments.data)
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ConfigError(f"{directory} is not an empty directory. Choose another one for --data.")
        directory.mkdir(parents=True, exist_ok=True)
        return _torture(directory, seed, arguments.minutes * 60, screen)
    with tempfile.TemporaryDirectory(prefix="retrospan-torture-") as temporary:
        directory = Path(temporary) / "torture"
        directory.mkdir()
        code = _torture(directory, seed, arguments.minutes * 60, screen)
        if code:
            kept = Path(tempfile.mkdtemp(prefix="retrospan-torture-broken-"))
            directory.rename(kept / "torture")
            screen.line(f"everything was kept in {kept / 'torture'}")
        return code


def _torture(directory: Path, seed: int, seconds: float, screen: Screen) -> int:
    # Imported here: they need gRPC.
    from retrospan.torture.power_cuts import play_lives
    from retrospan.torture.session import Torture

    say = screen.note
    say(f"seed {seed}, {seconds / 60:g} min, in {directory}")
    lives = play_lives(directory / "simulated", range(seed, seed + LIVES))
    say(
        f"simulated disk: {LIVES} logs, {lives.cuts} power cuts, {lives.kills} kills, "
        f"{lives.acknowledged:,} records acknowledged, {len(lives.broken)} promises broken"
    )
    verdict = Torture(directory, seed, seconds, say).run()
    verdict.broken += lives.broken
    for line in summary(verdict):
        screen.line(line)
    return 1 if verdict.broken else 0


def summary(verdict: Verdict) -> list[str]:
    """Return the verdict in lines for a person."""
    lines = [
        (
            f"{verdict.kills} kills, {verdict.kills_during_start} of them during a start and "
            f"{len(verdict.points)} at {len(set(verdict.points))} named points"
        )
    ]
    lines.append(
        f"{verdict.repeated:,} requests sent more than once, {verdict.archived_segments} segments archived"
    )
    lines.append(
        f"sent {verdict.sent:,}, acknowledged {verdict.acknowledged:,}, stored {verdict.stored:,}, "
        f"rejected {verdict.rejected:,}, refused {verdict.refused:,}"
    )
    if not verdict.broken:
        lines.append("every promise held: no acknowledged span is missing, none is stored twice")
    lines += [f"BROKEN: {sentence}" for sentence in verdict.broken]
    if verdict.broken:
        lines.append(f"to repeat: retrospan torture --seed {verdict.seed}")
    return lines


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes <= 10_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes above 0")
    return minutes
