"""The table of the paper's claims: those that its figures test, and those that benchmarks test on seeds of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from generator.results import benchmark, figure, table
from paper.claims import findings
from paper.gallery import FIGURES
from paper.verdicts import AGREES, DIFFERS, OPEN, PARTLY, Finding, compared, per_cent, reached

WORDS = {AGREES: "agrees", PARTLY: "partly", DIFFERS: "**differs**", OPEN: "undecided"}
PARALLEL, HIERARCHICAL = "parallel", "hierarchical"
# Claims that no result file tests yet, with the reason.
UNTESTED = (
    (
        "6",
        "Learned online with the paper's readout rates, the leak rates converge to the best accuracy.",
        "nothing that was kept; a trial of before went away from it",
    ),
    ("7", "Panels C and D, on MNIST with two reservoirs of 600 neurons.", "nothing of that size"),
)


def claims() -> str:
    """Every claim, our number, the verdict, and the command that makes the number."""
    rows = [
        (str(each.figure), each.claim, each.measured, each.verdict, f"`python -m paper {each.figure}`")
        for each in findings({number: figure(number) for number in FIGURES})
    ]
    rows += [("3", each.claim, each.measured, each.verdict, f"`{command}`") for each, command in benchmarked()]
    counts = Counter(row[3] for row in rows)
    total = (
        f"{len(rows)} claims: {counts[AGREES]} agree, {counts[PARTLY]} agree in part, {counts[DIFFERS]} differ, "
        f"{counts[OPEN]} are undecided. {len(UNTESTED)} more are not tested."
    )
    lines = [
        (number, claim, measured.replace(">=", "≥"), WORDS[verdict], command)
        for number, claim, measured, verdict, command in rows
    ]
    lines += [(*each, "not tested", "") for each in UNTESTED]
    return table(("Fig.", "the paper says", "measured here", "verdict", "command"), lines) + f"\n\n{total}"


def benchmarked() -> Iterator[tuple[Finding, str]]:
    """Claims on NARMA10 that rest on benchmarks."""
    command, networks = "python benchmarks/narma_seeds.py", benchmark("narma_seeds")["networks"]
    alone = min(
        (each for each in networks if each.startswith("single")), key=lambda each: np.mean(networks[each]["validation"])
    )
    single, side, chain = (np.array(networks[each]["test"]) for each in (alone, PARALLEL, HIERARCHICAL))
    for rival, theirs in (("a single one", single), ("two unconnected ones", side)):
        claim = f"NARMA10, other seeds: two connected reservoirs err less than {rival}."
        yield compared(3, claim, chain - theirs, rises=False, words="test NRMSE", digits=4), command
    claim = "NARMA10, other seeds: two unconnected reservoirs err about as much as a single one."
    change = "change of the test NRMSE in %"
    yield reached(3, claim, per_cent(side, single), 0, change, within=5, digits=1), command
    command, results = "python benchmarks/narma_wiring.py", benchmark("narma_wiring")["results"]
    for words, suffix, judge in (
        ("with everything tuned", "", "test"),
        ("with everything tuned at the paper's penalties", ", tuned with a penalty ≥ 1e-5", "paper"),
    ):
        pair, lone = (results.get(f"{kind}{suffix}", {}) for kind in ("2 first", "single"))
        d = [pair[seed][judge] - lone[seed][judge] for seed in pair if seed in lone]
        if not d:
            continue
        claim = f"NARMA10, {words}: two connected reservoirs err less than a single one."
        yield compared(3, claim, d, rises=False, words="test NRMSE"), command
