"""`python -m bench.mutations`: whether the tests notice when a rule of interpretation is changed; writes bench/MUTATIONS.md.

Mutations are drawn by a seed: a kind, then one of that kind, so that the many of one kind do not crowd out the others.
The tests are collected once. Each mutation is put into a forked copy of this process, which runs the tests that reach
its statement, the quickest first, until one fails. A limit of processor time ends what does not end by itself.
Those that change nothing that can be observed are listed by hand, with the reason, in `equivalent_mutations.toml`.
"""

from __future__ import annotations

import argparse
import builtins
import gc
import importlib
import json
import os
import random
import resource
import sys
import tempfile
import textwrap
import time
import tomllib
from ast import Module
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from bench.mutation_kinds import MARK, Mutation, marked, mutated, mutations_of

HERE = Path(__file__).resolve().parent
INTERPRET = HERE.parent / "ingest/retrospan/ingest/interpret"
#: Those of the pure core, in the order in which a run goes through them.
ROOMS = (
    *("spans", "messages", "normalize", "dialects", "grouping", "tree", "duplicates", "unfolding", "calls"),
    *("prompts", "pairing", "steps", "invariants", "outcome", "stated", "lineage", "rows"),
)
TESTS = ("tests/interpret", "tests/rules")
SELECTED = "not long and not soak and not engine"
#: A mutation may take so many times the processor time of its tests, and so many seconds more.
TIMES, SECONDS = 5, 20
MEMORY_BYTES = 6 << 30


@dataclass(slots=True)
class Tried:
    """A mutation and what became of it."""

    file: Path
    mutation: Mutation
    tests: list[int] = field(default_factory=list)  # those that reach it, the quickest first
    seconds: float = 0.0  # of processor time that they take
    verdict: str = "survived"  # caught | survived | equivalent
    by: str = ""  # the test that caught it, or why it is equivalent

    @property
    def place(self) -> str:
        return f"{self.file.relative_to(INTERPRET)}:{self.mutation.function}"


def main() -> int:
    """Draw, run, print and write; fail when less than nine in ten of those that are not equivalent are caught."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutations", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="only places that hold this text, all their mutations")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    drawn = [each for each in every() if arguments.only in each.place]
    if not arguments.only:
        drawn = draw(drawn, arguments.seed, arguments.count)
    known = equivalent()
    trial = Trial(drawn, arguments.jobs, known)
    words = ["-p", "no:terminal", "-p", "no:cacheprovider", "-m", SELECTED, *TESTS]
    if pytest.main(words, plugins=[trial]) != 0 or not trial.done:
        print("the tests fail without any mutation", file=sys.stderr)
        return 2
    page = render(drawn, arguments.seed)
    if not arguments.dry and not arguments.only:
        (HERE / "MUTATIONS.md").write_text(page, encoding="utf-8")
    print(page)
    verdicts = Counter(each.verdict for each in drawn)
    return 0 if verdicts["caught"] >= 9 * verdicts["survived"] else 1


def every() -> list[Tried]:
    """Return every mutation of the rules."""
    files = [file for room in ROOMS for file in sorted((INTERPRET / room).glob("*.py"))]
    return [
        Tried(file, mutation) for file in files for mutation in mutations_of(file.read_text(encoding="utf-8"))
    ]


def draw(pool: Sequence[Tried], seed: int, count: int) -> list[Tried]:
    """Draw mutations: a kind, then one of that kind."""
    chance = random.Random(seed)
    kinds: dict[str, list[Tried]] = {}
    for each in pool:
        kinds.setdefault(each.mutation.kind, []).append(each)
    for own in kinds.values():
        chance.shuffle(own)
    return [own.pop() for own in (kinds[chance.choice(sorted(kinds))] for _ in range(count)) if own]


def equivalent() -> dict[tuple[str, str, str], str]:
    """Return why mutations are equivalent, by place, text before and text after."""
    listed = tomllib.loads((HERE / "equivalent_mutations.toml").read_text(encoding="utf-8"))["mutation"]
    return {(each["place"], each["before"], each["after"]): each["reason"] for each in listed}


class Trial:
    """The plugin of pytest that runs mutations instead of the tests."""

    def __init__(self, drawn: Sequence[Tried], jobs: int, known: dict[tuple[str, str, str], str]) -> None:
        self.drawn, self.jobs, self.known = drawn, jobs, known
        self.failed: str | None = None
        self.done = False

    def pytest_collection_modifyitems(self) -> None:
        from hypothesis import settings  # its plugin wants to be loaded by pytest

        settings.register_profile("mutations", derandomize=True, database=None)
        settings.load_profile("mutations")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with tempfile.TemporaryDirectory() as directory:
            if not self._find_tests(session.items, Path(directory) / "reached.json"):
                return True
            running: dict[int, tuple[Tried, Path]] = {}
            for number, tried in enumerate(self.drawn):
                key = (tried.place, tried.mutation.before, tried.mutation.after)
                if key in self.known:
                    tried.verdict, tried.by = "equivalent", self.known[key]
                elif tried.tests:
                    if len(running) >= self.jobs:
                        self._reap(running)
                    note = Path(directory) / str(number)
                    running[_fork(partial(self._run, session.items, tried, note))] = (tried, note)
                else:
                    tried.by = "no test reaches it"
            while running:
                self._reap(running)
        self.done = True
        return True

    def _find_tests(self, items: Sequence[pytest.Item], note: Path) -> bool:
        """Find which tests reach which mutation and what they take, in a copy that runs all of them."""

        def run() -> int:
            reached: set[int] = set()
            setattr(builtins, MARK, reached.add)
            for file in {each.file for each in self.drawn}:
                own = {n: each.mutation for n, each in enumerate(self.drawn) if each.file == file}
                _put(file, marked(file.read_text(encoding="utf-8"), own))
            found = []
            for item in items:
                reached.clear()
                began = time.process_time()
                _run_test(item)
                found.append((time.process_time() - began, sorted(reached)))
            note.write_text(json.dumps(found))
            if self.failed:
                print(self.failed, file=sys.stderr)
            return int(self.failed is not None)

        _, status = os.waitpid(_fork(run), 0)
        if status:
            return False
        found = json.loads(note.read_text())
        for place in sorted(range(len(items)), key=lambda place: found[place][0]):
            seconds, reached = found[place]
            for number in reached:
                self.drawn[number].tests.append(place)
                self.drawn[number].seconds += seconds
        return True

    def _run(self, items: Sequence[pytest.Item], tried: Tried, note: Path) -> int:
        most = int(TIMES * tried.seconds) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        _put(tried.file, mutated(tried.file.read_text(encoding="utf-8"), tried.mutation))
        for place in tried.tests:
            _run_test(items[place])
            if self.failed:
                note.write_text(self.failed)
                return 1
        return 0

    def _reap(self, running: dict[int, tuple[Tried, Path]]) -> None:
        pid, status = os.waitpid(-1, 0)
        tried, note = running.pop(pid)
        if note.exists():
            tried.verdict, tried.by = "caught", note.read_text()
        elif os.WIFSIGNALED(status):
            tried.verdict, tried.by = "caught", "the limit of processor time"
        elif status:
            raise RuntimeError(f"the copy with a mutation in {tried.place} did not run")
        words = (tried.verdict, tried.place, tried.mutation.line, tried.mutation.before, tried.mutation.after)
        print(*words, sep=" | ", file=sys.stderr, flush=True)


def _run_test(item: pytest.Item) -> None:
    """Run one test by itself, with all of its fixtures."""
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _fork(run: Callable[[], int]) -> int:
    """Run a function in a copy of this process, which ends with what it returns; return the copy's id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        code = run()
    finally:
        os._exit(code)


def _put(file: Path, tree: Module) -> None:
    """Put the functions of a changed module in the place of those that are loaded."""
    name = ".".join(file.relative_to(HERE.parent / "ingest").with_suffix("").parts)
    loaded = str(importlib.import_module(name.removesuffix(".__init__")).__file__)
    changed = {
        (code.co_qualname, code.co_firstlineno): code for code in _functions(compile(tree, loaded, "exec"))
    }
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        code = function.__code__
        if code.co_filename == loaded and (own := changed.get((code.co_qualname, code.co_firstlineno))):
            function.__code__ = own


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of functions and methods, not of what is inside of them: only these have fast locals."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from [inner] if inner.co_flags & CO_OPTIMIZED else _functions(inner)


def render(drawn: Sequence[Tried], seed: int) -> str:
    """Return the page."""
    verdicts = Counter(each.verdict for each in drawn)
    counted = verdicts["caught"] + verdicts["survived"]
    told = (
        f"`python -m bench.mutations --seed {seed} --count {len(drawn)}`: of {len(drawn)} mutations that were drawn "
        f"{verdicts['equivalent']} can change nothing; of the other {counted} the tests caught {verdicts['caught']} "
        f"({verdicts['caught'] / max(counted, 1):.0%})."
    )
    lines = [
        "# Mutations of the rules of interpretation",
        "",
        *textwrap.wrap(told, 118, break_long_words=False, break_on_hyphens=False),
        "",
        "| verdict | where | kind | before | after | by |",
        "|---|---|---|---|---|---|",
    ]
    for each in sorted(drawn, key=lambda each: (each.verdict != "survived", each.place, each.mutation.line)):
        changed = each.mutation
        texts = (_cell(changed.before), _cell(changed.after))
        by = each.by.partition("[")[0].rpartition("/")[2] if each.verdict == "caught" else each.by
        lines.append(f"| {each.verdict} | {each.place} | {changed.kind} | {texts[0]} | {texts[1]} | {by} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return code as it stands in a cell, on one line."""
    short = " ".join(text.split())
    return "`" + (short if len(short) <= 90 else short[:88] + " …").replace("|", "\\|") + "`"


if __name__ == "__main__":
    raise SystemExit(main())
