"""What sentences of the pages say about results: numbers, and facts in words, each computed from the files they rest on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from generator.results import benchmark, better, figure, narma, narma_tests, problem_error, psmnist, searches, spread, tuning
from generator.tables import VARIANTS

FIRST = VARIANTS[0]


class Claim(NamedTuple):
    """A sentence with numbers: every {} in `text` is the number that `values` gives in its place."""

    page: str
    text: str
    values: Callable[[], tuple[str, ...]]


class Fact(NamedTuple):
    """A sentence without numbers that results could contradict."""

    page: str
    text: str
    holds: Callable[[], bool]


class Quoted(NamedTuple):
    """Numbers of others, and names that look like measurements, with their origin."""

    page: str
    text: str
    origin: str


# ------------------------------------------------------------------------------------------------------------------ computed


def ceiling(noise: float) -> float:
    """Of the joint task, test series."""
    return float(figure(4)["single_ceiling"].sel(part="test", task="joint", noise=noise).mean())


def asymmetric(network: str) -> tuple[int, int]:
    """Pairs of points (a, b) and (b, a) of Fig. 4 E or F that differ by two standard errors, and all pairs."""
    chosen = figure(4)["accuracy"].sel(part="test", readout="online", rho=0.1, task="joint", network=network)
    values = chosen.transpose("alpha1", "alpha2", "seed").values.astype(np.float64)
    pairs = [values[i, j] - values[j, i] for i in range(len(values)) for j in range(i)]
    return sum(bool(abs(each.mean()) > 2 * each.std(ddof=1) / len(each) ** 0.5) for each in pairs), len(pairs)


def settled(start: str, leak: str, kind: str) -> float:
    """Fig. 5: where a leak rate ends a phase, mean over draws and phases of a kind, the first phase left out."""
    data = figure(5)["settles"].sel(start=start, leak=leak)
    phases = [k for k, each in enumerate(figure(5)["kind"].values) if each == kind and k]
    return float(data.isel(phase=phases).mean())


def share_of_ceiling(kind: str) -> float:
    """Fig. 5: joint accuracy over the ceiling in phases of a kind, in per cent; the first phase left out."""
    phases = [k for k, each in enumerate(figure(5)["kind"].values) if each == kind and k]
    return 100 * float(figure(5)["ratio"].sel(task="joint").isel(phase=phases).mean())


def falls_at_every_level() -> bool:
    """Fig. 4C: the learned leak rate at the end of each noise, from the first on."""
    path = figure(4)["path"]
    ends = path.sel(path_step=[100_000 * k for k in range(1, 8)])
    return bool((ends.diff("path_step") < 0).all())


def rises_from_every_start() -> bool:
    """Fig. 3: the first leak rate, online, strong coupling."""
    path = figure(3)["online_path"].sel(path_surface="NARMA10, strong", leak="alpha1")
    return bool((path.isel(path_step=-1) > path.isel(path_step=0)).all())


def ahead(network: str, rival: str, count: int) -> bool:
    """Fig. 6: in all draws."""
    data = figure(6).sel(snapshots=count)
    other = data["single_best"] if rival == "single" else data["best"].sel(network=rival)
    return bool((data["best"].sel(network=network) > other).all())


def exchanged() -> bool:
    """Fig. 5: from three of four starts the first leak rate ends the faster one, in all draws; from the other never."""
    ends = figure(5)["settles"].isel(phase=slice(1, None))
    first, second = ends.sel(leak="alpha1"), ends.sel(leak="alpha2")
    return bool((first > second).isel(start=slice(1, None)).all() and (first < second).isel(start=0).all())


def above_least(kind: str) -> float:
    """NARMA10, first variant: mean validation error at (1, 0.5) above the least of the surface, in per cent."""
    errors = narma(FIRST, f"NARMA10, {kind}")["validation"].astype(np.float64).mean("seed")
    return float(100 * (errors.sel(alpha1=1.0, alpha2=0.5, method="nearest") / errors.min() - 1))


def of_hand_written() -> float:
    """Images a second over those of the fastest C kernel, the fastest round of each."""
    rates = {name: max(rounds) for name, rounds in benchmark("psmnist")["images_per_second"].items()}
    return float(rates["echoscale"] / max(rate for name, rate in rates.items() if name.startswith("C,")))


def binomial_error() -> float:
    """Of an accuracy near that of rings, from the number of test images."""
    rate, images = np.mean(psmnist("linear; one ring, input scaling .3", 28)), benchmark("psmnist_accuracy")["settings"]["test"]
    return float((rate * (1 - rate) / images) ** 0.5)


def rings_apart() -> float:
    """Two rings minus one, 28 snapshots."""
    two, one = (
        np.mean(psmnist(name, 28)) for name in ("linear; two rings, input scaling .2", "linear; one ring, input scaling .3")
    )
    return float(two - one)


def fig9(drive: str, delay: int, name: str = "best_alpha2") -> float:
    return float(figure(9)[name].sel(drive=drive, delay=delay))


def relaxation(gamma: float) -> float:
    """Fig. 8B: median of NRMSE_1 over draws."""
    return float(figure(8)["nrmse1"].sel(gamma=gamma).median("seed"))


def tuned_below(task: str, rival: str) -> bool:
    """`tune` with everything learned, on average."""
    return tuned_error(task) < float(np.mean(list(tuning(task, "all", rival).values())))


def fragile(task: str, kind: str, method: str = "tune") -> float:
    """Mean test error of what `tune` chose with everything learned, when the ridge, noise or precision is changed."""
    return float(np.mean([each.results[f"fragile_{kind}"][0] for each in searches(task, "all", method)]))


def cost_of_noise() -> tuple[str, ...]:
    """Per cent that noise on the states adds to the error of `tune`."""
    return tuple(f"{100 * (fragile(task, 'noise') / tuned_error(task) - 1):.0f}" for task in ("narma10", "narma5"))


def withstands_noise(task: str) -> bool:
    """Tuned with noise: no small change makes the error larger, and TPE is above it in every column."""
    kinds = "ridge", "noise", "float32"
    chosen, rival = (float(np.mean(list(tuning(task, "all", each).values()))) for each in ("tune-noise", "tpe-noise"))
    found = {kind: fragile(task, kind, "tune-noise") for kind in kinds}
    below = all(found[kind] < fragile(task, kind, "tpe-noise") for kind in kinds)
    return chosen < rival and below and max(found.values()) <= chosen


def tuned_error(task: str) -> float:
    return float(np.mean(list(tuning(task, "all", "tune").values())))


def wins(task: str, rival: str) -> bool:
    """`tune` with everything learned, in every seed."""
    better_in, of = better(task, "all", rival)
    return better_in == of


def wins_both(variant: str) -> bool:
    """The strongly coupled hierarchy has the least mean test error on NARMA10 and on NARMA5."""
    return all(
        narma_tests(variant, task, "strong").mean() < narma_tests(variant, task, rival).mean()
        for task in ("NARMA10", "NARMA5")
        for rival in ("single", "unconnected")
    )


def hierarchy_loses(variant: str) -> bool:
    """To the parallel network, on both tasks."""
    return all(
        narma_tests(variant, task, "strong").mean() > narma_tests(variant, task, "unconnected").mean()
        for task in ("NARMA10", "NARMA5")
    )


def gap_of_radius() -> bool:
    """Fig. 4: two reservoirs minus one. At a radius of 0.95 at most a quarter of that at 0.1; more online than by ridge."""
    joint = figure(4).sel(task="joint")
    gap = (joint["best"] - joint["single_best"]).mean("seed")
    small, large = gap.sel(rho=0.1), gap.sel(rho=0.95)
    return bool((large < small / 4).all() and (small.sel(readout="online") > small.sel(readout="ridge")).all())


def parallel_is_no_better() -> bool:
    """On other seeds than those of Fig. 3, and the hierarchy gains more over it than there."""
    networks = benchmark("narma_seeds")["networks"]
    side, chain = (np.mean(networks[name]["test"]) for name in ("parallel", "hierarchical"))
    alone = min(np.mean(each["test"]) for name, each in networks.items() if name.startswith("single"))
    there = narma_tests(FIRST, "NARMA10", "strong").mean() / narma_tests(FIRST, "NARMA10", "unconnected").mean()
    return bool(side >= alone and chain / side < there)


def grid_is_enough() -> bool:
    """For two leak rates: `tune` and the grid within a standard error, on both tasks."""
    for task in ("narma10", "narma5"):
        ours, grid = (spread(list(tuning(task, "leaks", method).values())) for method in ("tune", "grid"))
        if abs(ours.mean - grid.mean) > grid.error:
            return False
    return True


def tune_finds() -> bool:
    """From (0.5, 0.5) and (0.9, 0.2) the same end in each draw, and another from the other two starts."""
    paths = figure(3)["tuned_path"].sel(path_surface="NARMA10, strong").values  # (draw, start, round, leak)
    ends = np.array([[each[np.isfinite(each).all(axis=-1)][-1] for each in draw] for draw in paths])
    same = np.abs(ends[:, 1] - ends[:, 3]).max() < 0.01
    return bool(same and all(np.abs(ends[:, k] - ends[:, 1]).max(axis=-1).min() > 0.1 for k in (0, 2)))


def linear_level_milliseconds() -> tuple[str, str]:
    """On a GPU: all steps at once, and one after another."""
    level = next(each for each in benchmark("linear_levels")["levels"] if each["units"] == 1000 and each["steps"] == 100_000)
    at_once, stepwise = (1e3 * level["ways"][name]["seconds"] for name in ("as `esn.run`", "step by step"))
    return f"{at_once:.1f}", f"{stepwise:.0f}"


JOINT, REGIME = "telegraph, joint", "telegraph, regime"
SPREAD_LEVEL, PLAIN_LEVEL = "one level, leak rates spread", "one plain level"


def behind(task: str, kind: str, other: str) -> tuple[float, float]:
    """Mean of log(error of one kind / error of the other) over the seeds of a task, and the same in standard errors."""
    errors = benchmark("kinds")["errors"][task]
    ratios = np.log(np.array(errors[kind]) / np.array(errors[other]))
    return float(ratios.mean()), float(ratios.mean() / (ratios.std(ddof=1) / len(ratios) ** 0.5))


def residual_is_best() -> bool:
    """On every task but one, the better residual kind is the best of all, or behind it by less than two standard errors."""
    lost = []
    for task, errors in benchmark("kinds")["errors"].items():
        mean = {name: float(np.mean(each)) for name, each in errors.items()}
        best, ours = min(mean, key=mean.__getitem__), min((name for name in mean if "residual" in name), key=mean.__getitem__)
        if ours != best and behind(task, ours, best)[1] >= 2:
            lost.append((task, best))
    return len(benchmark("kinds")["errors"]) == 9 and lost == [(JOINT, "linear, then plain")]


def spread_gain() -> tuple[str, ...]:
    """State and regime of the telegraph: per cent less error with spread leak rates in one level."""
    return (f"{100 * (1 - np.exp(behind(JOINT, SPREAD_LEVEL, PLAIN_LEVEL)[0])):.0f}",)


def spread_gains_in_every_seed() -> bool:
    """On state and regime of the telegraph; on the tasks of one timescale it is nowhere clearly better."""
    errors = benchmark("kinds")["errors"]
    every = (np.array(errors[JOINT][SPREAD_LEVEL]) < np.array(errors[JOINT][PLAIN_LEVEL])).all()
    others = [behind(task, SPREAD_LEVEL, PLAIN_LEVEL)[1] for task in errors if not task.startswith("telegraph")]
    return bool(every and min(others) > -2)


def times_a_plain_step(kind: str, units: tuple[int, ...] = (100, 1000)) -> list[float]:
    """How many times as long as a plain step one of this kind takes: the median of all builds, for every number of lanes."""
    rows = [row for row in benchmark("levels")["microseconds_a_step"] if row["units"] in units]
    return [float(np.median(np.divide(row[kind], row["plain"]))) for row in rows]


def dearer_step(kind: str) -> tuple[str]:
    """By how many per cent a step of this kind takes longer than a plain one, in the row where it is most."""
    return (f"{100 * (max(times_a_plain_step(kind)) - 1):.0f}",)


def rotation_times() -> tuple[str, str]:
    """How many times as long as a plain step one of an orthogonal level takes, with 1,000 neurons: the least and the most."""
    times = times_a_plain_step("orthogonal", (1000,))
    return f"{min(times):.0f}", f"{max(times):.0f}"


def narma_feedback() -> tuple[str, ...]:
    """Median with feedback, lost free runs, the mean with noise; without seed 0, on which feedback was chosen."""
    row = benchmark("narma_feedback")["errors"]["first level residual, shift|0"]
    found, noisy = ([error for seed, error in row[name].items() if seed != "0"] for name in ("test", "fragile_noise"))
    lost = sum(each > 1 for each in found)
    return f"{np.median(found):.3f}", str(lost), f"{np.mean(noisy):.2f}"


TWO, FIVE, FIVE_RESIDUAL = "two plain levels", "five plain levels", "five levels, the first residual, shift"


def five_levels() -> tuple[str, ...]:
    """NARMA10: mean and standard error of two levels and of five; then means with noise, tuned to withstand it."""
    errors = benchmark("narma_kinds")["errors"]
    bare = [list(errors[f"{kind}|0"]["test"].values()) for kind in (TWO, FIVE, FIVE_RESIDUAL)]
    noisy = [list(errors[f"{kind}|1e-05"]["fragile_noise"].values()) for kind in (TWO, FIVE, FIVE_RESIDUAL)]
    return (*mean_and_error(*bare), *(f"{np.mean(each):.3f}" for each in noisy))


def mean_and_error(*groups: list[float]) -> tuple[str, ...]:
    """Mean and standard error of every group."""
    return tuple(f"{number:.3f}" for each in map(spread, groups) for number in (each.mean, each.error))


def products_of_lags() -> tuple[str, ...]:
    """NARMA10: NVAR with 40 lags."""
    return mean_and_error(list(benchmark("narma_kinds")["errors"]["NVAR, 40 lags|0"]["test"].values()))


def five_beat_two() -> bool:
    """In every seed, without noise and with it."""
    errors = benchmark("narma_kinds")["errors"]
    return all(
        error < errors[f"{TWO}|{noise}"]["test"][seed]
        for noise in ("0", "1e-05")
        for kind in (FIVE, FIVE_RESIDUAL)
        for seed, error in errors[f"{kind}|{noise}"]["test"].items()
    )


def problems_behind() -> set[str]:
    """Real and made series on which es.auto is 5 % behind the better of ridge on lags and the seasonal naive."""
    every = [each for problems in benchmark("real_data")["problems"].values() for each in problems]
    simple = "ridge on lags", "seasonal naive"
    return {
        f"{name}, {h}"
        for name, h in every
        if problem_error(name, h, "es.auto") > 1.05 * min(problem_error(name, h, each) for each in simple)
    }


def larger_than_memory() -> tuple[str, ...]:
    """Size of the store, pieces before the kill, all pieces, those that began again, and the difference on the part."""
    raw = benchmark("larger_than_memory")
    apart = max(raw["difference_on_part"].values())
    counts = raw["killed_after_pieces"], raw["pieces"], raw["starts"] - raw["pieces"]
    size = 8e-9 * raw["settings"]["steps"] * (raw["settings"]["inputs"] + 1)
    return (f"{size:.1f}", *map(str, counts), f"{apart:.0e}")


def drawn_behind() -> tuple[str, ...]:
    """Shares of drawn series that are 5 % behind the better of two: of who knows their kind, and of es.auto."""
    knowing, ours = [], []
    for problem in benchmark("simple_methods")["problems"]:
        errors = problem["errors"]
        names = set.intersection(*(set(each) for each in errors)) - {"rival", "taken"}
        ratios = {name: np.array([each[name] / each["rival"] for each in errors]) for name in (*names, "taken")}
        knowing.append(min((ratios[name] for name in sorted(names)), key=lambda each: float(np.log(each).mean())))
        ours.append(ratios["taken"])
    knowing_share, own_share = (100 * np.mean(np.concatenate(each) > 1.05) for each in (knowing, ours))
    return f"{knowing_share:.0f}", f"{own_share:.0f}"


# ------------------------------------------------------------------------------------------------------------- the sentences

CLAIMS = [
    Claim(
        "levels.md",
        "two plain levels {} ± {}, five plain levels {} ± {}, five levels whose first is residual {} ± {}. Tuned to withstand "
        "noise, and judged with noise of `1e-6` on the states: {}, {} and {}",
        five_levels,
    ),
    Claim("levels.md", "860 features and no neurons, has {} ± {}", products_of_lags),
    Claim("levels.md", "as fast as two. A step takes at most {} % longer than a plain one", lambda: dearer_step("leak rates")),
    Claim("levels.md", "takes no product; its step takes at most {} % longer than a plain one", lambda: dearer_step("shift")),
    Claim("levels.md", "its step takes {} to {} times as long as a plain one", rotation_times),
    Claim(
        "auto.md",
        "is so far behind on {} % of them; `es.auto`, which knows the series alone, on {} %",
        drawn_behind,
    ),
    Claim(
        "data.md",
        "a store of {} GB was fitted on two workers with `2GiB` each, and one of them was killed after {} of {} pieces: {} "
        "pieces began again. The first `100_000` steps gave the readout of one process with all numbers in memory, to a "
        "relative {}",
        larger_than_memory,
    ),
    Claim("telegraph.md", "the ceiling of the same series is {}:", lambda: (f"{ceiling(0.5):.3f}",)),
    Claim(
        "feedback.md",
        "the median test error is {} over nine seeds, with `floor=0`. But {} of the nine ran away, and noise of "
        "`1e-6` on the states makes it {} with the ridge chosen again",
        narma_feedback,
    ),
    Claim(
        "telegraph.md",
        "of {} pairs of points (a, b) and (b, a) none differs by two standard errors in the first row. The hierarchical one is "
        "not: {} do.",
        lambda: (str(asymmetric("unconnected")[1]), str(asymmetric("connected")[0])),
    ),
    Claim(
        "telegraph.md",
        r"$\alpha^{(2)}$ is {} in slow and {} in fast phases; $\alpha^{(1)}$ rests near {}.",
        lambda: (
            f"{settled('(0.2, 0.8)', 'alpha2', 'slow'):.2f}",
            f"{settled('(0.2, 0.8)', 'alpha2', 'fast'):.2f}",
            f"{settled('(0.2, 0.8)', 'alpha1', 'fast'):.2f}",
        ),
    ),
    Claim(
        "telegraph.md",
        "Both are equally good: {} % of the ceiling in fast and {} % in slow phases.",
        lambda: (f"{share_of_ceiling('fast'):.0f}", f"{share_of_ceiling('slow'):.0f}"),
    ),
    Claim(
        "telegraph.md",
        "A slow leak rate of {} means {} steps.",
        lambda: (
            f"{settled('(0.2, 0.8)', 'alpha1', 'fast'):.2f}",
            f"{1 / round(settled('(0.2, 0.8)', 'alpha1', 'fast'), 2):.0f}",
        ),
    ),
    Claim(
        "psmnist.md",
        "with 28 snapshots the two differ by {}, and the binomial error of 10,000 test images is {}.",
        lambda: (f"{rings_apart():.4f}", f"{binomial_error():.4f}"),
    ),
    Claim(
        "narma.md",
        "at the paper's point the validation error is {} % above the least. The parallel one is {} % higher at $(1, 0.5)$",
        lambda: (f"{above_least('weak'):.1f}", f"{above_least('unconnected'):.1f}"),
    ),
    Claim("tuning.md", "Noise of `1e-6` on the states costs {} % on NARMA10 and {} % on NARMA5", cost_of_noise),
    Claim("levels.md", "in all five seeds ({} % less)", spread_gain),
    Claim("memory.md", "{} % less for the regime, {} % less for state and regime together", lambda: spread_over_leaks()),
    Claim("levels.md", "1,000 units take {} ms for 100,000 steps, and {} ms step by step", linear_level_milliseconds),
    Claim("performance.md", "{} % of the speed of hand-written C", lambda: (f"{100 * of_hand_written():.0f}",)),
    Claim(
        "timescales.md",
        r"over the 50 draws is {} at $\gamma = 0.05$ and {} at $\gamma = 1$",
        lambda: (f"{relaxation(0.05):.3f}", f"{relaxation(1.0):.3f}"),
    ),
    Claim(
        "timescales.md",
        "leak rate jumps from {} at a delay of 7 steps to {} at 10, the hierarchy's own value and the task's memory, and the "
        "error comes down to {}, that of the hierarchy.",
        lambda: (
            f"{fig9('of the hierarchy', 7):g}",
            f"{fig9('of the hierarchy', 10):g}",
            f"{fig9('of the hierarchy', 10, 'best_test'):.2f}",
        ),
    ),
]

LEAKS, SPREAD, RESIDUAL = "leak rate", "spread of leak rates", "share of tanh, orthogonal residual"
MAPS = (LEAKS, SPREAD, RESIDUAL)


def map_errors(name: str, task: str) -> list[float]:
    """On test data at the point of a map that validation data choose, for every draw."""
    runs = [each["errors"][task] for each in benchmark("memory_maps")["maps"][name]["runs"]]
    return [each["test"][int(np.argmin(each["validation"]))] for each in runs]


def map_error(name: str, task: str) -> float:
    """Mean over the draws."""
    return float(np.mean(map_errors(name, task)))


def spread_over_leaks() -> tuple[str, ...]:
    """Per cent less error with the best spread than with the best leak rate: the regime, and state and regime together."""
    return tuple(f"{100 * (1 - map_error(SPREAD, task) / map_error(LEAKS, task)):.0f}" for task in (REGIME, JOINT))


def goes_with(name: str, measure: str, task: str) -> float:
    """Rank correlation of a measure with the error over a map, mean over the draws."""
    runs = benchmark("memory_maps")["maps"][name]["runs"]
    return float(np.mean([spearmanr(each["measures"][measure], each["errors"][task]["test"]).statistic for each in runs]))


def no_measure_says_all() -> bool:
    """Every measure has a map and a task where a larger one does not come with a smaller error, nor a smaller one."""
    runs = benchmark("memory_maps")["maps"][LEAKS]["runs"][0]
    return all(
        min(sign * goes_with(name, measure, task) for name in MAPS for task in runs["errors"]) < 0
        for measure in runs["measures"]
        for sign in (1, -1)
    )


FACTS = [
    Fact("README.md", "A residual first level was best, or tied for best, on [eight of nine tasks]", residual_is_best),
    Fact("levels.md", "was best, or tied for best, [on eight of nine tasks]", residual_is_best),
    Fact("levels.md", "Five levels have a smaller error than two in all five seeds", five_beat_two),
    Fact("levels.md", "has a smaller error than one leak rate in all five seeds", spread_gains_in_every_seed),
    Fact("memory.md", "No measure alone predicts the error on all tasks.", no_measure_says_all),
    Fact(
        "memory.md",
        "A larger memory capacity comes with a smaller error on the delay in every map",
        lambda: all(goes_with(each, "memory capacity", "delay of 20") < -0.4 for each in MAPS),
    ),
    Fact(
        "memory.md",
        "A larger nonlinear capacity comes with a smaller error on channel equalisation and Lorenz in every map",
        lambda: all(
            goes_with(each, "nonlinear capacity", task) < -0.5
            for each in MAPS
            for task in ("channel equalisation", "Lorenz, 10 ahead")
        ),
    ),
    Fact(
        "memory.md",
        "a larger nonlinear capacity comes with a larger error in every map",
        lambda: all(goes_with(each, "nonlinear capacity", REGIME) > 0.5 for each in MAPS),
    ),
    Fact(
        "memory.md",
        "An orthogonal residual level has a fraction of the error on the delay and on smoothing, and less on NARMA10",
        lambda: (
            all(map_error(RESIDUAL, task) < 0.15 * map_error(LEAKS, task) for task in ("delay of 20", "smoothing"))
            and map_error(RESIDUAL, "NARMA10") < 0.8 * map_error(LEAKS, "NARMA10")
        ),
    ),
    Fact(
        "memory.md",
        "On Mackey-Glass and the telegraph it is worse",
        lambda: (
            map_error(RESIDUAL, "Mackey-Glass, 10 ahead") > 2 * map_error(LEAKS, "Mackey-Glass, 10 ahead")
            and all(map_error(RESIDUAL, task) > 1.05 * map_error(LEAKS, task) for task in (REGIME, JOINT))
        ),
    ),
    Fact(
        "memory.md",
        "the best spread is about as good as the best single leak rate on the tasks that need one timescale",
        lambda: all(
            abs(map_error(SPREAD, task) / map_error(LEAKS, task) - 1) < 0.15
            for task in benchmark("memory_maps")["maps"][LEAKS]["runs"][0]["errors"]
            if task not in (REGIME, JOINT)
        ),
    ),
    Fact(
        "memory.md",
        "There the spread has a smaller error in all three draws",
        lambda: all(
            one < other
            for task in (REGIME, JOINT)
            for one, other in zip(map_errors(SPREAD, task), map_errors(LEAKS, task), strict=True)
        ),
    ),
    Fact(
        "README.md",
        "the hierarchy wins on both NARMA tasks only with states that have seen the current input and a ridge penalty from",
        lambda: [wins_both(each) for each in VARIANTS] == [True, False, False, False],
    ),
    Fact("README.md", "The telegraph gap needs a small spectral radius, and is largest with an online readout", gap_of_radius),
    Fact("README.md", "On 60 other seeds the parallel network is no better than a single one", parallel_is_no_better),
    Fact(
        "narma.md",
        "The paper's claim holds on both tasks only for lag 1 and a penalty from `1e-5` up.",
        lambda: wins_both(FIRST),
    ),
    Fact(
        "narma.md",
        "(lag 0) the second level has not received the last input yet, and the hierarchy does not beat the parallel network.",
        lambda: all(hierarchy_loses(each) for each in VARIANTS[2:]),
    ),
    Fact(
        "narma.md",
        "A weak coupling never beats the parallel network.",
        lambda: all(
            narma_tests(each, "NARMA10", "weak").mean() > narma_tests(each, "NARMA10", "unconnected").mean()
            for each in VARIANTS
        ),
    ),
    Fact("narma.md", "With other seeds it is no better than the single network", parallel_is_no_better),
    Fact("narma.md", "the first leak rate rises from every start in all three draws", rises_from_every_start),
    Fact("narma.md", "`tune` finds the minimum of each draw from `(0.5, 0.5)` and `(0.9, 0.2)`", tune_finds),
    Fact(
        "telegraph.md",
        "joint accuracy of 0.75 is impossible for a noise of 1 or more",
        lambda: max(ceiling(each) for each in (1, 1.5, 2, 3, 4)) < 0.75,
    ),
    Fact(
        "telegraph.md",
        "There both pairs beat the single network in all ten draws.",
        lambda: bool(
            (
                figure(4)["best"].sel(readout="online", rho=0.1, task="joint")
                > figure(4)["single_best"].sel(readout="online", rho=0.1, task="joint")
            ).all()
        ),
    ),
    Fact(
        "telegraph.md",
        "beats the online readout for every network and both radii",
        lambda: all(
            bool((means.sel(readout="ridge") > means.sel(readout="online")).all())
            for means in (figure(4)[name].sel(task="joint").mean("seed") for name in ("best", "single_best"))
        ),
    ),
    Fact("telegraph.md", "none differs by two standard errors in the first row", lambda: asymmetric("unconnected")[0] == 0),
    Fact("telegraph.md", "the leak rate falls at every level, from all three starts, in all three draws", falls_at_every_level),
    Fact("telegraph.md", "the roles are exchanged, in all fifteen runs", exchanged),
    Fact(
        "psmnist.md",
        "The hierarchical network is ahead in all three draws, with both numbers of snapshots.",
        lambda: all(ahead("connected", rival, count) for rival in ("single", "unconnected") for count in (4, 28)),
    ),
    Fact(
        "psmnist.md",
        "A linear readout on the images as they are does not reach 0.98 in the mean of three draws.",
        lambda: bool(np.mean(psmnist("held-out images too; two rings, input scaling .2", 28)) < 0.98),
    ),
    Fact("tuning.md", "**Leak rates alone** are easy: a grid ends at the same error as `tune`.", grid_is_enough),
    Fact(
        "auto.md",
        "on two of all problems, solar power 6 steps ahead and a random walk",
        lambda: problems_behind() == {"solar power, 6", "random walk, 6"},
    ),
    Fact("tuning.md", "two levels beat one of equally many neurons in every seed", lambda: wins("narma10", "tune-single")),
    Fact(
        "tuning.md",
        "`tune` has a lower mean error than random search and TPE on both tasks",
        lambda: all(tuned_below(task, rival) for task in ("narma10", "narma5") for rival in ("random", "tpe")),
    ),
    Fact(
        "tuning.md",
        "States in float32 cost nothing.",
        lambda: all(fragile(task, "float32") <= tuned_error(task) for task in ("narma10", "narma5")),
    ),
    Fact(
        "tuning.md",
        "none of these changes makes the error larger, and `tune` stays below TPE with the same objective",
        lambda: all(map(withstands_noise, ("narma10", "narma5"))),
    ),
    Fact("online.md", "means over nine seeds", lambda: len(searches("narma10", "leaks", "online-rls")) == 9),
    Fact(
        "online.md",
        "here it even shrinks, in all five seeds",
        lambda: bool(
            (
                figure(7)["deviation"].sel(form="truncated trace", snapshots=28)
                < figure(7)["deviation"].sel(form="truncated trace", snapshots=4)
            ).all()
        ),
    ),
]


QUOTED = [
    Quoted("README.md", "Python 3.11 or newer", "pyproject.toml"),
    Quoted("CONTRIBUTING.md", "Python 3.11 or newer", "pyproject.toml"),
    Quoted("install.md", "Python 3.11 or newer", "pyproject.toml"),
    Quoted("data.md", "a download of 11.6 MB", "the four files as published"),
    Quoted("data.md", "The 60,000 sequences take 188 MB", "60,000 × 784 × 4 bytes"),
    Quoted("data.md", "may be silent for 10 seconds, and everything together take 10 minutes", "limits in the code"),
    Quoted("data.md", "CC BY-SA 3.0", "a licence"),
    Quoted("data.md", "CC BY 4.0", "a licence"),
    Quoted("paper.md", "The paper's 0.64 and 0.75 appear", "the paper, on Fig. 4G"),
    Quoted("paper.md", "A joint accuracy of 0.75 is impossible", "the paper, on Fig. 4G"),
    Quoted("telegraph.md", "the paper's joint accuracy of 0.75 is impossible", "the paper, on Fig. 4G"),
    Quoted("telegraph.md", "The paper's 0.64 for one reservoir and 0.75 for two", "the paper, on Fig. 4G"),
    Quoted("psmnist.md", "The paper's best is 0.96.", "the paper, on Fig. 6"),
    Quoted("psmnist.md", "it quotes 0.88 to 0.95", "the paper, on Fig. 6"),
    Quoted("psmnist.md", "does not reach 0.98 in the mean", "a round number; a fact above"),
]


def of(page: str) -> list[Claim]:
    """The claims of one page."""
    return [claim for claim in CLAIMS if claim.page == page]
