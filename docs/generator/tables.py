"""The tables of the pages, from committed results. The paper's "unconnected" is parallel here, "connected" hierarchical."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from generator import paper_table, rooms
from generator.results import (
    BENCHMARKS,
    CHOOSING_SEED,
    benchmark,
    better,
    figure,
    narma_gain,
    narma_wiring_apart,
    problem_error,
    psmnist,
    searches,
    signed,
    spread,
    table,
    telegraph,
    telegraph_ratio,
    telegraph_runs,
    tuning,
)
from paper import hierarchy_results, learned_timescales
from paper.provenance import settings_in
from paper.reproduce import Row, headline

VARIANTS = ("lag 1, ridge >= 1e-5", "lag 1, ridge free", "lag 0, ridge >= 1e-5", "lag 0, ridge free")
KINDS = {"unconnected": "parallel", "connected": "hierarchical", "strong": "hierarchical", "single": "single"}
# Series of `real_data` that judge and are drawn.
MADE = ("Lorenz", "noisy logistic map", "growing season", "random walk")
NOT_YET = "*Not measured yet: `python benchmarks/{}.py`.*"


SHOWN = ("NARMA10, test NRMSE", "telegraph, joint accuracy", "psMNIST, 28 snapshots, accuracy")  # on the first page


def readme() -> str:
    """The headline of the paper, one line for each task."""
    tasks: dict[str, dict[str, Row]] = {}
    for each in headline({number: figure(number) for number in (3, 4, 6)}):
        tasks.setdefault(each.task, {})[KINDS.get(each.network, each.network)] = each
    rows = []
    for task in SHOWN:
        found = tasks[task]
        said = ", ".join(f"{kind} {each.paper}" for kind, each in found.items() if each.paper)
        rows.append((task, *(found[kind].ours for kind in ("single", "parallel", "hierarchical")), said))
    return table(("task", "single", "parallel", "hierarchical", "the paper"), rows)


def why() -> str:
    """Three results, each with what it does not say."""
    hierarchy = hierarchy_results.against_flat(figure("hierarchy"), "all").mean
    ends = [f"{2 ** hierarchy[:, place].mean():.2f}" for place in (-1, 0)]
    grid = benchmark("speed")["rows"][-1]["entries"]
    ours, theirs = (grid[name]["seconds"] for name in (benchmark("speed")["ours"], "reservoirpy"))
    tuned, searched = (spread(list(tuning("narma10", "all", method).values())) for method in ("tune-noise", "tpe-noise"))
    rows = (
        (
            f"Levels that all receive the input, {len(hierarchy)} tasks: error relative to the best network without levels",
            ends[0],
            "1",
            f"slow averages of a fast product, equally many neurons; {ends[1]} for squares of slow averages",
        ),
        (
            "A map of 400 leak rates, states to ridge",
            f"{ours:.1f} s",
            f"reservoirpy: {theirs / ours:.0f} times as long",
            "two cores; extrapolated from a part",
        ),
        (
            "All hyper-parameters learned: NARMA10, NRMSE",
            f"{tuned:3}",
            f"Optuna: {searched:3}",
            "as many simulated steps; ten seeds; to withstand noise",
        ),
    )
    return table(("", "echoscale", "beside it", "keep in mind"), rows)


def narma10() -> str:
    return _narma("NARMA10", ("unconnected", "weak", "strong"))


def narma5() -> str:
    return _narma("NARMA5", ("unconnected", "strong"))


def _narma(task: str, kinds: tuple[str, ...]) -> str:
    rows = []
    for variant in VARIANTS:
        data = figure(3).sel(variant=variant)
        alone = data.sel(task=task)
        place = f"({float(alone['single_best_alpha']):g}; {float(alone['single_best_rho']):g})"
        cells = [(float(alone["single_best_test"]), float(alone["single_best_test_error"]), place)]
        for kind in kinds:
            both = data.sel(surface=f"{task}, {kind}")
            place = f"({float(both['best_alpha1']):g}, {float(both['best_alpha2']):g})"
            cells.append((float(both["best_test"]), float(both["best_test_error"]), place))
        least = min(cells)
        shown = [f"{'**' * (each is least)}{each[0]:.3f} ± {each[1]:.3f}{'**' * (each is least)} {each[2]}" for each in cells]
        gains = [narma_gain(variant, task, rival) for rival in ("single", "unconnected")]
        rows.append((variant.replace(">=", "≥"), *shown, *(f"{signed(gain)} %, {wins} of {of}" for gain, wins, of in gains)))
    names = {"unconnected": "parallel", "weak": "hierarchical, weak", "strong": "hierarchical, strong"}
    return table((task, "single", *(names[kind] for kind in kinds), "strong against single", "against parallel"), rows)


def narma_minima() -> str:
    """Where the paper and we have the least errors."""
    data = figure(3).sel(variant=VARIANTS[0])

    def ours(surface: str) -> str:
        place = data.sel(surface=surface)
        return f"({float(place['best_alpha1']):g}, {float(place['best_alpha2']):g})"

    alone = data.sel(task="NARMA10")
    return table(
        ("NARMA10, least error", "the paper", "ours"),
        [
            ("single", "$\\alpha = 1$", f"{float(alone['single_best_alpha']):g}"),
            ("parallel (Fig. 3E)", "one of the two near 0.5", ours("NARMA10, unconnected")),
            ("hierarchical, weak (Fig. 3F)", "(1, 0.5)", ours("NARMA10, weak")),
            ("hierarchical, strong (Fig. 3G)", "a fast first, a slow second level", ours("NARMA10, strong")),
        ],
    )


def narma_paths() -> str:
    """Ends of the learned paths with strong coupling, all draws."""
    data = figure(3).sel(path_surface="NARMA10, strong")
    rows = []
    for start in data["path_start"].values:
        cells = [str(start)]
        for name in ("online_path", "tuned_path"):
            paths = data[name].sel(path_start=start).values  # (draw, round, leak)
            ends = [path[np.isfinite(path).all(axis=-1)][-1] for path in paths]  # a search may end early
            cells.append(" · ".join(f"({first:.2f}, {second:.2f})" for first, second in ends))
        rows.append(cells)
    return table(("start", "online, a million steps", "`es.tune`"), rows)


def telegraph_ceiling() -> str:
    data = figure(4)["single_ceiling"].sel(part="test").mean("seed")
    return table(
        ("noise σ", *(f"{noise:g}" for noise in data["noise"].values)),
        [
            (task, *(f"{float(data.sel(task=task, noise=noise)):.3f}" for noise in data["noise"]))
            for task in data["task"].values
        ],
    )


def telegraph_readings() -> str:
    data = figure(4).sel(task="joint")
    rows = []
    for readout in ("online", "ridge"):
        for rho in (0.1, 0.95):
            found = data.sel(readout=readout, rho=rho)
            alone = found["single_best"].values
            cells = [f"{spread(alone):3} ({float(found['single_best_alpha']):.2g})"]
            gains = []
            for kind in ("unconnected", "connected"):
                both = found.sel(network=kind)
                place = f"({float(both['best_alpha1']):.2g}, {float(both['best_alpha2']):.2g})"
                cells.append(f"{spread(both['best'].values):3} {place}")
                gains.append(f"+{spread(both['best'].values - alone):3}")
            rows.append((f"{readout}, {rho:g}", *cells, *gains))
    return table(("readout, $\\rho$", "single", "parallel", "hierarchical", "parallel − single", "hierarchical − single"), rows)


def telegraph_roles() -> str:
    """Fig. 5: where both leak rates end slow and fast phases, and the share of the ceiling, from every start."""
    data, kinds = figure(5).isel(phase=slice(1, None)), ("slow", "fast")
    rows = []
    for start in data["start"].values:
        one = data.sel(start=start)
        cells = []
        for leak in ("alpha1", "alpha2"):
            ends = one["settles"].sel(leak=leak).mean("seed")
            cells.append(", ".join(f"{float(ends[data['kind'].values == kind].mean()):.3f}" for kind in kinds))
        share = one["ratio"].sel(task="joint").mean("seed")
        shares = ", ".join(f"{100 * float(share[data['kind'].values == kind].mean()):.0f} %" for kind in kinds)
        rows.append((str(start), *cells, shares))
    header = ("start", "$\\alpha^{(1)}$ in slow, fast phases", "$\\alpha^{(2)}$", "of the ceiling in slow, fast phases")
    return table(header, rows)


FOUR = ("four levels, gentle", "four levels, bold")


def telegraph_levels() -> str:
    """Four tuned levels against the ceiling; the second error is that of the test series, on which the seeds do not differ."""
    rows = []
    for noise in (0.5, 1, 2):
        pairs, ratio = telegraph(noise, FOUR, "softmax"), telegraph_ratio(noise, FOUR, "softmax")
        ours, ceiling = np.mean(pairs, axis=0)
        error = np.std(ratio, ddof=1) / len(ratio) ** 0.5
        apart = [np.subtract(run["test; softmax; joint"], run["test; ceiling; joint"]) for run in telegraph_runs(noise, FOUR)]
        series = 100 * np.std(apart, ddof=1) / np.size(apart) ** 0.5 / ceiling
        percent = f"**{np.mean(ratio):.1f} %** ± {error:.2f}"
        rows.append((noise, f"{ours:.3f}", f"{ceiling:.3f}", percent, f"{series:.2f}", f"{min(ratio):.1f} %"))
    header = ("noise σ", "joint accuracy", "ceiling", "ratio, ± over seeds", "± over test series", "worst seed")
    return table(header, rows)


def telegraph_coding() -> str:
    """What the coding of the target leaves of the gap between one reservoir and two, both tuned, at a noise of 0.5."""
    kinds = {"one reservoir": ("single, gentle", "single, bold"), "two levels": ("two levels, gentle", "two levels, bold")}
    readouts = {"one-hot": "four one-hot outputs, ridge", "columns": "two outputs, ridge", "softmax": "softmax"}
    found = {kind: {each: telegraph_ratio(0.5, names, each) for each in readouts} for kind, names in kinds.items()}
    rows = [(kind, *(f"{spread(each):1} %" for each in ratios.values())) for kind, ratios in found.items()]
    one, two = found.values()
    gaps = [spread(np.subtract(two[each], one[each])) for each in readouts]
    rows.append(("two minus one", *(f"{signed(gap.mean)} ± {gap.error:.1f}" for gap in gaps)))
    return table(("100 neurons, tuned, noise 0.5; of the ceiling", *readouts.values()), rows, numbers=True)


def telegraph_steps() -> str:
    """What brings 100 neurons to the ceiling, at a noise of 0.5."""
    lines = (
        ("the paper's two levels, four one-hot outputs learned online", ("paper, mse online",), "mse online"),
        ("… four one-hot outputs, ridge", ("paper",), "one-hot"),
        ("… two outputs (state, regime), ridge", ("paper",), "columns"),
        ("… softmax", ("paper",), "softmax"),
        ("one reservoir, tuned, softmax", ("single, gentle", "single, bold"), "softmax"),
        ("two levels, tuned, softmax", ("two levels, gentle", "two levels, bold"), "softmax"),
        ("four levels, not tuned, softmax", ("four levels as begun, gentle", "four levels as begun, bold"), "softmax"),
        ("four levels, tuned, softmax", FOUR, "softmax"),
    )
    rows = [(text, f"{np.mean(telegraph_ratio(0.5, names, readout)):.1f} %") for text, names, readout in lines]
    return table(("100 neurons, noise 0.5", "of the ceiling"), rows, numbers=True)


def psmnist_surfaces() -> str:
    rows = []
    for count in (4, 28):
        data = figure(6).sel(snapshots=count)
        alone, side, chain = (
            data["single_best"].values,
            data["best"].sel(network="unconnected").values,
            data["best"].sel(network="connected").values,
        )
        cells = [f"{spread(alone):4} ({float(data['single_best_alpha']):g})"]
        for kind, values in (("unconnected", side), ("connected", chain)):
            place = data.sel(network=kind)
            cells.append(f"{spread(values):4} ({float(place['best_alpha1']):g}, {float(place['best_alpha2']):g})")
        gains = [f"+{spread(chain - other):4} (images {_images_add(chain, other):.4f})" for other in (side, alone)]
        rows.append((f"{count} snapshots", *cells, *gains))
    header = ("", "single", "parallel", "hierarchical", "hierarchical − parallel", "hierarchical − single")
    return table(header, rows)


def _images_add(first: object, second: object) -> float:
    """The standard error of a difference of accuracies from the number of test images, if both err independently."""
    rates = np.array([spread(each).mean for each in (first, second)])
    return float((rates * (1 - rates) / settings_in(figure(6))["test"]).sum() ** 0.5)


def psmnist_paths() -> str:
    data = figure(6)["path"].isel(path_seed=0, path_minibatch=-1)
    rows = []
    for count in (4, 28):
        for kind in ("unconnected", "connected"):
            ends = [data.sel(network=kind, snapshots=count, path_start=start).values for start in data["path_start"]]
            rows.append((f"{KINDS[kind]}, {count} snapshots", *(f"({first:.2f}, {second:.2f})" for first, second in ends)))
    return table(("from", *(str(each) for each in data["path_start"].values)), rows)


def psmnist_helps() -> str:
    lines = (
        ("Fig. 6 with a better readout, leak rates (1, 1)", "linear; random, leak rates (1, 1), radius .99"),
        ("the same, leak rates (1, .05)", "linear; random, leak rates (1, .05), radius .99"),
        ("three random levels, leak rates (1, 1, .05)", "linear; random, three levels (1, 1, .05), radius .99"),
        ("two random levels, spectral radius 1.1", "linear; random, leak rates (1, 1), radius 1.1"),
        ("one ring of 1,200 neurons", "linear; one ring, input scaling .3"),
        ("two rings of 600, input scaling .1", "linear; two rings, input scaling .1"),
        ("two rings of 600, input scaling .2", "linear; two rings, input scaling .2"),
    )
    rows: list[tuple[str, ...]] = [
        (text, f"{spread(psmnist(name, 28)):4}", f"{spread(psmnist(name, 4)):4}") for text, name in lines
    ]
    for text, name in (
        ("… trained on the held-out images too", "held-out images too"),
        ("… trained on shifted images besides", "shifted images"),
    ):
        rows.append((text, f"{spread(psmnist(f'{name}; two rings, input scaling .2', 28)):4}", ""))
    return table(
        ("1,200 neurons; test accuracy, mean ± standard error of three draws", "28 snapshots", "4 snapshots"),
        rows,
        numbers=True,
    )


def tuning_methods() -> str:
    """Test errors of all ways to set hyper-parameters."""
    lines = {
        "grid": "grid of 400",
        "random": "random search",
        "tpe": "Optuna's TPE",
        "online-adam": "online, the paper's rule",
        "online-rls": "online, recursive least squares",
        "tune-single": "`tune`, one reservoir of 100",
        "tune": "**`tune`, 8 starts**",
        "tpe-noise": "Optuna's TPE, to withstand noise",
        "tune-noise": "**`tune(noise=1e-5)`, 8 starts**",
    }
    rows = []
    for method, text in lines.items():
        cells = []
        for task in ("narma10", "narma5"):
            for names in ("leaks", "all"):
                found = list(tuning(task, names, method, own=method.startswith("online")).values())
                digits = "4" if (task, names) == ("narma5", "all") else "3"
                cells.append(format(spread(found), digits) if found else "")
        if any(cells):
            rows.append((text, *cells))
    header = ("test NRMSE", "NARMA10, leak rates", "NARMA10, all", "NARMA5, leak rates", "NARMA5, all")
    return table(header, rows, numbers=True)


def tuning_wins() -> str:
    """In how many seeds `tune` wins when everything is learned."""
    rows = []
    for text, rival in (("random search", "random"), ("TPE", "tpe"), ("`tune`, one reservoir of 100", "tune-single")):
        cells = [text]
        for task in ("narma10", "narma5"):
            wins, of = better(task, "all", rival)
            ours, theirs = (np.mean(list(tuning(task, "all", each).values())) for each in ("tune", rival))
            cells.append(f"{wins} of {of}, {signed(float(100 * (ours / theirs - 1)), 0)} %")
        rows.append(cells)
    return table(("all hyper-parameters: `tune` against", "NARMA10", "NARMA5"), rows, numbers=True)


def tuning_fragile() -> str:
    """The networks that were chosen, when something small is changed."""
    kinds = ("fragile_ridge", "fragile_noise", "fragile_float32")
    lines = (
        ("grid", "leaks", "grid of 400"),
        ("tpe", "all", "Optuna's TPE, all"),
        ("tune", "all", "`tune`, all"),
        ("tpe-noise", "all", "Optuna's TPE, all, to withstand noise"),
        ("tune-noise", "all", "`tune(noise=1e-5)`, all"),
    )
    rows = []
    for method, names, text in lines:
        for task, name in (("narma10", "NARMA10"), ("narma5", "NARMA5")):
            found = [each for each in searches(task, names, method) if all(kind in each.results for kind in kinds)]
            if found:
                means = [np.mean([each.results[kind][0] for each in found]) for kind in kinds]
                rows.append(
                    (f"{name}, {text}", *(f"{each:.3f}" for each in (np.mean([each.test[-1] for each in found]), *means)))
                )
    header = ("test NRMSE", "as chosen", "ridge `1e-8`", "noise of `1e-6` on states", "states in float32")
    return table(header, rows, numbers=True) if rows else NOT_YET.format("tuning")


def narma_seeds() -> str:
    """The first variant of Fig. 3 on seeds that are new."""
    raw = benchmark("narma_seeds")
    if raw is None:
        return NOT_YET.format("narma_seeds")
    networks = raw["networks"]
    best = min((each for each in networks if each.startswith("single")), key=lambda each: np.mean(networks[each]["validation"]))
    rows = []
    for name in (best, "parallel", "hierarchical"):
        errors = np.array(networks[name]["test"])
        cells = [name.split(",")[0], f"{spread(errors):3}"]
        for rival in (best, "parallel"):
            others = np.array(networks[rival]["test"])
            gain = 100 * (errors.mean() / others.mean() - 1)
            wins = f"{signed(gain)} %, {int((errors < others).sum())} of {len(errors)}"
            cells.append("" if name in (rival, best) else wins)
        rows.append(cells)
    # Of the single networks that with the least validation error.
    return table((f"NARMA10, {len(raw['seeds'])} other seeds", "test NRMSE", "against single", "against parallel"), rows)


def narma_kinds() -> str:
    """Tuned networks on NARMA10 as they are, with states in float32, and with noise on the states."""
    errors = benchmark("narma_kinds")["errors"]
    rows = []
    for kind, text in {
        "two plain levels": "two levels",
        "five plain levels": "five levels",
        "five levels, the first residual, shift": "five levels, the first residual",
    }.items():
        for noise, how in (("0", ""), ("1e-05", ", tuned to withstand noise")):
            found = errors[f"{kind}|{noise}"]
            cells = [f"{spread(list(found[name].values())):3}" for name in ("test", "fragile_float32", "fragile_noise")]
            bold = "**" * (kind == "five plain levels" and how != "")
            rows.append((f"{bold}{text}{how}{bold}", *cells))
    for lags in (30, 40):
        found = errors[f"NVAR, {lags} lags|0"]
        size = next(iter(found["features"].values()))
        rows.append((f"`NVAR` with {lags} lags, {size:.0f} features", f"{spread(list(found['test'].values())):3}", "", ""))
    header = ("NARMA10, test NRMSE", "as chosen", "states in float32", "noise of `1e-6` on the states")
    return table(header, rows, numbers=True)


NETWORKS = {
    "single": "single",
    "2 first": "two levels, input to the first",
    "2 all": "two levels, input to both",
    "3 all": "three levels, input to all",
    "5 first": "five levels, input to the first",
    "5 all": "five levels, input to all",
    "5 all, residual": "the same, the first level residual",
    "5 parallel": "five in parallel",
    "products of 13 lags": "no network: products of 13 inputs",
    "products of 40 lags": "no network: products of 40 inputs",
}


def narma_wiring() -> str:
    """Tuned networks on NARMA10, judged by a ridge readout outside the library."""
    results = benchmark("narma_wiring")["results"]
    rows = []
    for kind, text in NETWORKS.items():
        runs = list(results.get(kind, {}).values())
        if len(runs) > 1:
            cells = [f"{spread([run[judge] for run in runs]):3}" for judge in ("test", "float32")]
            # Products of inputs are not tuned: the same runs count.
            strict = list(results.get(kind if "products" in kind else f"{kind}, tuned with a penalty ≥ 1e-5", {}).values())
            cells.append(f"{spread([run['paper'] for run in strict]):3}" if len(strict) > 1 else "")
            rows.append((text, f"{runs[0]['size']:.0f}", len(runs), *cells))
    header = ("NARMA10, test NRMSE", "size", "seeds", "outside judge", "states in float32", "tuned and judged with ≥ `1e-5`")
    return table(header, rows, numbers=True)


def narma_wiring_paired() -> str:
    """Differences seed by seed of what `narma_wiring` shows in its first column."""
    pairs = (
        ("2 first", "single"),
        ("2 all", "2 first"),
        ("5 all", "2 all"),
        ("5 all", "5 first"),
        ("5 all", "5 parallel"),
        ("5 all, residual", "5 all"),
        ("5 all", "products of 13 lags"),
        ("5 all", "products of 40 lags"),
    )
    rows = []
    for ours, theirs in pairs:
        d = narma_wiring_apart(ours, theirs)
        if d.size < 2:
            continue
        rows.append(
            (
                NETWORKS[ours].replace("the same, the", "five levels, the"),
                NETWORKS[theirs],
                f"{signed(d.mean(), 3)} ± {spread(d).error:.3f}",
                f"{(d < 0).sum()} of {d.size}",
            )
        )
    return table(("network", "minus", "difference", "smaller error in"), rows)


def online_rules() -> str:
    """The error of the online readout as it stands along a stream, and the leak rates at its end."""
    checkpoints = {10_000: 0, 100_000: 2, 1_000_000: 4}
    adam, rls = (searches("narma10", "leaks", method) for method in ("online-adam", "online-rls"))
    adam = [each for each in adam if each.seed != CHOOSING_SEED]
    rows = [
        (f"after {count:,} steps: NRMSE", *(f"{np.mean([each.own_test[k] for each in found]):.3f}" for found in (adam, rls)))
        for count, k in checkpoints.items()
    ]
    ends = [np.mean([each.results["chosen"][:2] for each in found], axis=0) for found in (adam, rls)]
    rows.append(("leak rates at the end", *(f"({first:.2f}, {second:.2f})" for first, second in ends)))
    return table(("", "the paper's rule", "readout by RLS"), rows)


def gradient_forms() -> str:
    """Fig. 7E: how far each form is from back-propagation through time."""
    names = {
        "exact trace": "exact trace",
        "truncated trace": "truncated trace",
        "Eq. (bptt1)": "BPTT formula as printed",
        "moving leaks, per snapshot": "leak rates move after each snapshot, by `1e-4`",
        "moving leaks, per step": "leak rates move at every step, by `5e-6`",
    }
    data = figure(7)["deviation"]
    rows = []
    for k, form in enumerate(data["form"].values):
        cells = [list(names.values())[k]]
        for count in (4, 28):
            values = data.sel(snapshots=count, form=form).values
            small = values.mean() < 1e-4
            three = (values.mean(), values.min(), values.max())
            texts = [f"{each:.0e}".replace("e-0", "e-") if small else f"{100 * each:.2g}" for each in three]
            unit = "" if small else " %"
            cells.append(f"{texts[0]}{unit} ({texts[1]} to {texts[2]}{unit})")
        rows.append(cells)
    return table(("form of the gradient", "4 snapshots", "28 snapshots"), rows)


def speed() -> str:
    """Times of echoscale, and how many times as long others take."""
    data = benchmark("speed")
    titles = {
        "single-100": "one series, 10,000 steps, 100 neurons",
        "single-1000": "one series, 10,000 steps, 1,000 neurons",
        "batch-snapshots": "256 series, 784 steps, 2 × 600 neurons, 28 snapshots",
        "batch-states": "the same, all states kept",
        "sweep": "20 × 20 leak rates, 2 × 50 neurons, states to ridge",
    }
    others = [each for each in data["contenders"] if not each.endswith("on echoscale") and each != data["ours"]]
    rows = []
    for line in data["rows"]:
        ours = line["entries"][data["ours"]]["seconds"]
        cells = [titles[line["name"]], f"{1e3 * ours:.3g} ms" if ours < 1 else f"{ours:.2f} s"]
        for name in others:
            entry = line["entries"].get(name, {})
            if "seconds" not in entry or entry["seconds"] is None:
                cells.append("–")
            else:
                cells.append(f"{_two_digits(entry['seconds'] / ours)}×{'†' * (entry['share'] < 1)}")
        rows.append(cells)
    host = data["provenance"]["machine"]
    return table(("work", "echoscale", *others), rows, numbers=True) + f"\n\n{host['cpu']}, {host['cores']} cores."


def _two_digits(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{float(f'{value:.2g}'):.0f}"


def memory() -> str:
    """A full-size run of psMNIST on two cores."""
    stages = benchmark("psmnist_memory")["stages"]
    rows = [(name, f"{each['seconds']:.1f} s", f"{each['resident_gib']:.2f} GiB") for name, each in stages.items()]
    return table(("stage", "time", "peak memory so far"), rows, numbers=True)


def choices() -> str:
    """What the alternatives to the engine's choices cost: ratios of medians."""
    raw = benchmark("choices")
    if raw is None:
        return NOT_YET.format("choices")
    rows = []
    for name, variants in raw["seconds"].items():
        own, *others = variants.items()
        for variant, times in others:
            rows.append((name, variant, f"{np.median(times) / np.median(own[1]):.2f}"))
    return table(("choice", "alternative", "time of the alternative / time of the choice"), rows)


def walks() -> str:
    """Calls, functions, files and switches of each call; before and after where both are kept."""
    now = benchmark("walks")
    if now is None:
        return NOT_YET.format("walks")
    keys = ("calls", "functions", "files", "switches")
    counts, old = now["walks"], now.get("before") or (benchmark("walks_before") or {"walks": {}})["walks"]
    before = {name: each if isinstance(each, dict) else dict(zip(keys, each, strict=True)) for name, each in old.items()}
    rows = [
        (f"`{name}`", *(f"{before[name][key]:,} → {each[key]:,}" if name in before else f"{each[key]:,}" for key in keys))
        for name, each in counts.items()
    ]
    return table(("call", *keys), rows, numbers=True)


def real_data() -> str:
    """Geometric means of error ratios over problems, medians and worst; for real problems with an interval."""
    raw = benchmark("real_data")
    if raw is None:
        return NOT_YET.format("real_data")

    real = [each for each in raw["problems"]["judged"] if each[0] not in MADE]
    rows = []
    for method in ("es.auto", "ESNRegressor()"):
        for rival in ("ridge on lags", "seasonal naive", "boosting on lags", "reservoirpy + Optuna"):
            cells = [f"`{method}`", rival]
            for problems in (*raw["problems"].values(), real):
                ratios = [problem_error(*each, method) / problem_error(*each, rival) for each in problems]
                mean = across(np.log(ratios)) if problems is real else f"{np.exp(np.mean(np.log(ratios))):.3f}"
                cells.append(f"{mean}; {np.median(ratios):.3f}; {max(ratios):.2f}")
            rows.append(cells)
    groups = {"set": "problems that were looked at", "judged": "problems that were judged only"}
    heads = [f"{len(problems)} {groups[group]}" for group, problems in raw["problems"].items()]
    return table(("method", "error over that of", *heads, f"the {len(real)} real ones of these"), rows)


def feedback() -> str:
    """Errors of freely generated series: the median and the worst of the seeds, and how long they hold."""
    raw = benchmark("feedback")
    if raw is None:
        return NOT_YET.format("feedback")
    rows = []
    for name in dict.fromkeys(each["series"] for each in raw["outcomes"]):
        for way in dict.fromkeys(each["way"] for each in raw["outcomes"]):
            runs = [each for each in raw["outcomes"] if (each["series"], each["way"]) == (name, way)]
            errors = [each["nrmse"] for each in runs]
            label = "reservoirpy, best penalty" if way == "reservoirpy" else way
            held = float(np.mean([each["valid"] for each in runs]))
            rows.append([name, label, f"{np.median(errors):.1e}", f"{max(errors):.1e}", f"{held:.0f} of {raw['steps']}"])
    return table(("series", "network", "NRMSE, median", "worst", "valid steps, mean"), rows)


def tutorials() -> str:
    """The mean score of other libraries and of echoscale on the tutorials of the former."""
    raw = benchmark("tutorials")
    if raw is None:
        return NOT_YET.format("tutorials")
    rows = []
    for name, about in raw["tutorials"].items():
        runs = [each for each in raw["outcomes"] if each["name"] == name]
        means = [format(spread([each[who] for each in runs]), "3") for who in ("theirs", "echoscale")]
        rows.append([name, about["library"], f"{about['score']}, {'more' if about['highest'] else 'less'} is better", *means])
    return table(("tutorial", "library", "score", "its own", "echoscale"), rows)


def closed_loop() -> str:
    """Valid times of free runs, mean and standard error over the seeds; of MSO8 the median error."""
    raw = benchmark("closed_loop")
    if raw is None:
        return NOT_YET.format("closed_loop")
    ways = ("hand", "reservoirpy with Optuna", "next step", "closed loop")
    rows = []
    for name, settings in raw["settings"].items():
        runs = [each for each in raw["outcomes"] if each["system"] == name]
        columns = [[run[way] for run in runs if way in run] for way in ways]
        timed = settings["lyapunov"] is not None
        cells = ["–" if not each else format(spread(each), "2") if timed else f"{np.median(each):.1e}" for each in columns]
        what = "valid time, Lyapunov times" if timed else "NRMSE of 300 steps, median"
        rows.append([f"{name}, {settings['neurons']} neurons: {what}", *cells])
    header = ("", "by hand", "reservoirpy with Optuna", "`tune`, next step", "`tune(closed_loop=…)`")
    return table(header, rows, numbers=True)


def forecasting() -> str:
    """`es.Forecaster()` over its rivals on real series that only judge: geometric means; coverage and seconds of each."""
    raw = benchmark("forecasting")
    if raw is None:
        return NOT_YET.format("forecasting")
    ours, (judged, short) = "es.Forecaster()", (raw["problems"][group] for group in ("judged", "short"))

    def means(method: str, what: str, names: Sequence[str]) -> np.ndarray:
        """Over the origins, by series."""
        place = raw["scores"].index(what)
        each = [[raw["results"].get(f"{name}|{method}|{origin}") for origin in range(4)] for name in names]
        return np.array([np.mean([scores[place] for scores in origins if scores]) for origins in each])

    def ratio(method: str, what: str, names: Sequence[str]) -> str:
        return across(np.log(means(ours, what, names) / means(method, what, names)))

    rows = []
    for method in dict.fromkeys(key.split("|")[1] for key in raw["results"] if "panel=" not in key):
        pairs = (("mase", judged), ("pinball", judged), ("mase", short))
        ratios = ["" for _ in pairs] if method == ours else [ratio(method, *pair) for pair in pairs]
        inside = [f"{100 * means(method, what, judged).mean():.1f} %" for what in ("inside80", "inside95")]
        seconds = np.median(means(method, "seconds", judged))
        rows.append([f"`{method}`" if method == ours else method, *ratios, *inside, f"{seconds:.2f}"])
    groups = (f"{len(judged)} series", f"{len(judged)} series", f"{len(short)} short economic ones")
    heads = [f"{what}, {group}" for what, group in zip(("MASE", "pinball", "MASE"), groups, strict=True)]
    return table(("method", *heads, "inside 80 %", "inside 95 %", "seconds"), rows, numbers=True)


def driven() -> str:
    """`es.auto` over its rivals on driven problems that only judge: the first table of the result file, without medians."""
    path = BENCHMARKS / "driven.md"
    if not path.exists():
        return NOT_YET.format("driven")
    lines = path.read_text(encoding="utf-8").partition("| rival |")[2].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    header = [cell for cell in rows[0] if cell]
    return table(("rival", header[0], header[2]), [[row[0], row[1], row[3]] for row in rows[2:]], numbers=True)


def across(logs: object) -> str:
    """The geometric mean of ratios, from logarithms, with a 95 % interval over problems."""
    each = np.asarray(logs, np.float64)
    half = stats.t.ppf(0.975, each.size - 1) * spread(each).error
    low, mean, high = np.exp(each.mean() + half * np.array([-1, 0, 1]))
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def classification() -> str:
    """The mean share of right labels, and the calibration error over all test sequences."""
    raw = benchmark("classification")
    if raw is None:
        return NOT_YET.format("classification")
    rows = []
    rivals = dict.fromkeys(name for each in raw["rivals"].values() for name in each)
    for method in (*raw["methods"], *rivals):
        cells = [f"`{method}`" if method.startswith(("ES", "es.")) else method]
        for group in ("set", "judged"):
            means = []
            for name in raw["groups"][group]:
                start = f"{name}|{method}|"
                own = [each["accuracy"] for key, each in raw["results"].items() if key.startswith(start)]
                means.append(np.mean(own or raw["rivals"][name][method]))
            cells.append(f"{np.mean(means):.3f}")
        error = raw["pooled_ece"].get(method)
        rows.append([*cells, "" if error is None else f"{error:.3f}"])
    looked, judged = (len(raw["groups"][group]) for group in ("set", "judged"))
    header = ("method", f"{looked} sets that set defaults", f"{judged} sets judged only", "calibration error")
    return table(header, rows, numbers=True)


def family() -> str:
    """Test errors of the models of the family, the least of every task in bold."""
    raw = benchmark("family")
    if raw is None:
        return NOT_YET.format("family")
    tasks = raw["settings"]["tasks"]
    found = {(each["model"], each["task"]): spread(each["test"]) for each in raw["outcomes"]}
    least = {task: min(found[model, task].mean for model in raw["numbers"]) for task in tasks}
    rows = []
    for model, count in raw["numbers"].items():
        marks = ["**" * (found[model, task].mean == least[task]) for task in tasks]
        cells = [f"{mark}{found[model, task]:3}{mark}" for mark, task in zip(marks, tasks, strict=True)]
        rows.append([model.replace("ES2N", "ES²N"), count, *cells])
    return table(("", "numbers searched", *tasks), rows, numbers=True)


def exponents() -> str:
    """Exponents of closed loops beside published ones."""
    raw = benchmark("exponents")
    if raw is None:
        return NOT_YET.format("exponents")
    rows = []
    for each in raw["systems"]:
        pairs = zip(each["exponents"], each["errors"], strict=True)
        ours = " · ".join(f"{value:.3f} ± {error:.3f}".replace("-", "−") for value, error in pairs)
        rows.append([f"{each['system']}, {each['model']}", ours])
        for name, values in each["published"].items():
            rows.append([f"published: {name}", " · ".join(f"{value:.3f}".replace("-", "−") for value in values)])
    return table(("", "exponents per unit of time"), list(dict.fromkeys(map(tuple, rows))))


TABLES: dict[str, Callable[[], str]] = {
    "family": family,
    "exponents": exponents,
    "classification": classification,
    "closed-loop": closed_loop,
    "feedback": feedback,
    "driven": driven,
    "hierarchy": lambda: hierarchy_results.table(figure("hierarchy")),
    "hierarchy-shares": lambda: hierarchy_results.by_share(figure("hierarchy")),
    "hierarchy-answer": lambda: f"**{hierarchy_results.answer(figure('hierarchy'))}**",
    "timescales": lambda: learned_timescales.table(figure("timescales")),
    "forecasting": forecasting,
    "tutorials": tutorials,
    "real_data": real_data,
    "headline": readme,
    "paper-claims": paper_table.claims,
    "why": why,
    "narma10": narma10,
    "narma5": narma5,
    "narma-seeds": narma_seeds,
    "narma-kinds": narma_kinds,
    "narma-wiring": narma_wiring,
    "narma-wiring-paired": narma_wiring_paired,
    "narma-minima": narma_minima,
    "narma-paths": narma_paths,
    "telegraph-ceiling": telegraph_ceiling,
    "telegraph-readings": telegraph_readings,
    "telegraph-levels": telegraph_levels,
    "telegraph-coding": telegraph_coding,
    "telegraph-roles": telegraph_roles,
    "telegraph-steps": telegraph_steps,
    "psmnist-surfaces": psmnist_surfaces,
    "psmnist-paths": psmnist_paths,
    "psmnist-helps": psmnist_helps,
    "tuning": tuning_methods,
    "tuning-wins": tuning_wins,
    "tuning-fragile": tuning_fragile,
    "online-rules": online_rules,
    "gradient-forms": gradient_forms,
    "speed": speed,
    "memory": memory,
    "choices": choices,
    "tree": rooms.tree,
    "rooms": rooms.listed,
    "walks": walks,
    "size": rooms.size,
    "size-of-rooms": rooms.size_of_rooms,
}
