"""What `diff` says of two sides: how many pairs differ, at which steps, by which causes, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.cli.client.references import short, short_length
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.why.comparison import CAUSES
from retrospan.ingest.why.sides.pairs import LENGTH, Pair, PairRows, Share, known
from retrospan.ingest.why.sides.rows import FEWEST

#: Runs of a side that the view `run_pairs` looks at.
_LOOKED_AT = 1_000
_MEANT = {**CAUSES, LENGTH: "one goes on where the other has ended"}


def show_pairs(session: Session, rows: PairRows) -> None:
    """Write the verdict, the histograms of causes and of steps, and what is not known."""
    screen = session.screen
    screen.line((verdict(rows), "bold"))
    screen.line((f"  {chosen(rows)}", "dim"))
    causes = [*rows.causes()]
    if causes:
        runs = [run for _, _, pairs in causes for pair in pairs for run in (pair.run_a, pair.run_b)]
        length = short_length(runs)
        show_table(
            screen,
            [
                Column("CAUSE", style="yellow"),
                Column("PAIRS", right=True),
                Column("BASELINE'S OWN", right=True),
                Column("P", right=True, priority=1),
                Column("MEANS", text=True, priority=2),
                Column("SUCH AS", style="cyan", priority=1),
            ],
            [
                [
                    cause,
                    f"{share.across} of {len(known(rows.across))}",
                    f"{share.within} of {len(known(rows.within))}",
                    _chance(share),
                    _MEANT.get(cause, ""),
                    ", ".join(f"{short(pair.run_a, length)} {short(pair.run_b, length)}" for pair in pairs),
                ]
                for cause, share, pairs in causes
            ],
        )
        show_table(
            screen,
            [Column("BEGINS AT"), Column("PAIRS", right=True), Column("BASELINE'S OWN", right=True)],
            [
                [f"step {step}" if step else "the start", str(across), str(within)]
                for step, across, within in rows.steps()
            ],
        )
    for line in unknown(rows):
        screen.note((line, "dim"))
    if causes:
        first = causes[0][2][0]
        screen.hint(f"next: retrospan diff {short(first.run_a)} {short(first.run_b)}")


def verdict(rows: PairRows) -> str:
    """Return in one sentence whether the sides differ more than the baseline's runs do among themselves."""
    if not rows.is_conclusive:
        across, within = rows.lacking
        needed = [
            f"{counted(across, 'more pair')} of the two sides" if across else "",
            f"{counted(within, 'more pair')} within the baseline" if within else "",
        ]
        compared = {"across": len(rows.across), "within": len(rows.within)}
        more = any(rows.possible[kind] > number for kind, number in compared.items())
        return (
            f"INCONCLUSIVE: {FEWEST} pairs of each kind are needed, of runs that were asked the same: "
            f"{' and '.join(filter(None, needed))}.{' --pairs compares more.' if more else ''}"
        )
    parted = rows.parted()
    said = (
        f"{parted.across} of {counted(len(known(rows.across)), 'pair')} differ, "
        f"{parted.within} of {len(known(rows.within))} of the baseline's own"
    )
    if not rows.differs():
        return f"The sides differ no more than the baseline's own runs do, beyond chance: {said}."
    by = [cause for cause, share, _ in rows.causes() if rows.is_apart(share)]
    return f"The sides differ beyond chance{' in ' + ', '.join(by) if by else ''}: {said}."


def chosen(rows: PairRows) -> str:
    """Return which pairs were compared, and of how many runs."""
    sizes = rows.sizes
    return (
        f"{counted(len(rows.across), 'pair')} compared of {rows.possible['across']:,} with the same input "
        f"({sizes['baseline_n']:,} runs of the baseline, {sizes['candidate_n']:,} of the candidate); "
        f"within the baseline {len(rows.within):,} of {rows.possible['within']:,}"
    )


def unknown(rows: PairRows) -> Iterator[str]:
    """Yield what the answer does not cover."""
    versions = sum(pair.is_of_versions for pair in rows.across)
    if versions:
        yield f"of {counted(versions, 'pair')} the version differs too: what else is new in it is not on record"
    doubtful = len(rows.across) - len(known(rows.across))
    if doubtful:
        yield f"of {counted(doubtful, 'pair')} it is not known whether they differ: something is recorded for one run only"
    without = rows.sizes["baseline_unknown"] + rows.sizes["candidate_unknown"]
    if without:
        yield f"{counted(without, 'run')} without an input on record: in no pair"
    looked_at = min(rows.sizes["candidate_n"], _LOOKED_AT)
    alone = looked_at - rows.sizes["candidate_unknown"] - rows.possible["across"]
    if alone > 0:
        yield f"{counted(alone, 'run')} of the candidate without a run of the baseline that was asked the same: in no pair"
    for name in ("baseline", "candidate"):
        if rows.sizes[f"{name}_n"] > _LOOKED_AT:
            yield f"only the newest {_LOOKED_AT:,} runs of the {name} were looked at"


def objects(rows: PairRows) -> Iterator[dict[str, object]]:
    """Yield the answer as objects: the sides, each cause, each step, each pair."""
    parted, of, within_of = rows.parted(), len(known(rows.across)), len(known(rows.within))
    word = "inconclusive" if not rows.is_conclusive else "differ" if rows.differs() else "alike"
    yield {
        "part": "sides",
        "verdict": word,
        **{name: rows.sizes[name] for name in ("baseline_n", "candidate_n")},
        **{name: rows.sizes[name] for name in ("baseline_unknown", "candidate_unknown")},
        "compared": len(rows.across),
        "possible": rows.possible["across"],
        "compared_within": len(rows.within),
        "possible_within": rows.possible["within"],
        **_counts(parted, of, within_of),
        "lacking": rows.lacking[0],
        "lacking_within": rows.lacking[1],
    }
    for cause, share, pairs in rows.causes():
        examples = [_place(pair) for pair in pairs]
        yield {"part": "cause", "cause": cause, **_counts(share, of, within_of), "examples": examples}
    for step, across, within in rows.steps():
        yield {"part": "step", "step": step, "pairs": across, "within": within}
    for kind, listed in (("across", rows.across), ("within", rows.within)):
        yield from _pairs(kind, listed)


def _pairs(kind: str, listed: Sequence[Pair]) -> Iterator[dict[str, object]]:
    for pair in listed:
        aspect = None if pair.row is None else pair.row["aspect"]
        said = {"outcome": pair.outcome or None, "aspect": aspect, "other_version": pair.is_of_versions}
        yield {"part": "pair", "sides": kind, **_place(pair), **said}


def _place(pair: Pair) -> dict[str, object]:
    steps = {name: None if pair.row is None else pair.row[name] for name in ("step_a", "step_b")}
    return {"run_a": pair.run_a, "run_b": pair.run_b, **steps}


def _counts(share: Share, of: int, within_of: int) -> dict[str, object]:
    return {
        "pairs": share.across,
        "of": of,
        "within": share.within,
        "within_of": within_of,
        "p_value": share.p_value,
    }


def _chance(share: Share) -> str:
    return "-" if share.p_value is None else f"{share.p_value:.2g}"
