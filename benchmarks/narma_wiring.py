"""NARMA10 with 100 neurons, all hyper-parameters tuned: what lowers the error, and does the error survive another ridge?

    python benchmarks/narma_wiring.py                          resumes from --folder
    python benchmarks/narma_wiring.py --kinds single "2 first" --seeds 400 401 --minutes 20
    python benchmarks/narma_wiring.py --quick                  seconds

Networks differ in the number of levels, in the levels that receive the input ("first" or "all"), in whether a level drives the
next ("parallel": none does), and in whether the first level is residual. One seed draws series and weights. `es.tune` sees 200
steps of washout, 5000 of training and 1500 of validation. The ridge penalty has a floor of 1e-8, or the paper's, 1e-5. Every
network gets the same number of starts and rounds. The judge is a ridge regression by singular value decomposition, which shares
no code with the library: it fits the training steps, chooses its penalty on the validation steps, and reports 2500 test steps.
Products of the last inputs (the features of NVAR), judged alike, stand beside the networks.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt

import echoscale as es

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """All that determines the results, except kind and seed."""

    washout: int = 200
    train: int = 5000
    validation: int = 1500
    test: int = 2500
    units: int = 100
    spectral_radius: float = 0.95  # this and the next: where the search begins
    input_scaling: float = 0.2
    floor: float = 1e-8
    starts: int = 4
    rounds: int = 30


QUICK = Settings(washout=50, train=300, validation=100, test=100, units=20, starts=2, rounds=2)
SEEDS = tuple(range(400, 420))  # used nowhere else
LEVELS = (2, 3, 5, 10)
RESIDUAL, PAPER = ", residual", ", tuned with a penalty ≥ 1e-5"
# Levels and wiring; whether the first level is residual (a shift); with which penalties the network is tuned.
NETWORKS = ["single", *(f"{levels} {wiring}" for levels, wiring in product(LEVELS, ("first", "all", "parallel")))]
KINDS = ["".join(each) for each in product(NETWORKS, ("", RESIDUAL), ("", PAPER))]
LAGS = {"products of 13 lags": 13, "products of 40 lags": 40}
# Penalties relative to the mean squared singular value; and those of the paper, from 1e-5 up.
RELATIVE, ABSOLUTE = 10.0 ** np.arange(-8, 2.01, 0.5), 10.0 ** np.arange(-5, 2.01, 0.5)
JUDGES = {"test": "penalty ≥ 1e-8, relative", "float32": "the same, states in float32", "paper": "penalty ≥ 1e-5, the paper's"}


def judged(features: Floats, y: Floats, s: Settings, penalties: Floats, relative: bool) -> float:
    """Test NRMSE of a ridge readout: fitted on the training steps, its penalty chosen on the validation steps."""
    ends = np.cumsum([s.washout, s.train, s.validation, s.test])
    train, validation, test = (slice(begin, end) for begin, end in pairwise(ends))
    mean, level = features[train].mean(axis=0), y[train].mean()
    left, singular, right = np.linalg.svd(features[train] - mean, full_matrices=False)
    against = left.T @ (y[train] - level)
    unit = np.mean(singular**2) if relative else 1.0
    weights = right.T @ (singular / (singular**2 + unit * penalties[:, None]) * against).T  # one column for each penalty

    def errors(part: slice) -> Floats:
        wrong = (features[part] - mean) @ weights + level - y[part, None]
        return np.asarray((wrong**2).mean(axis=0) ** 0.5 / y[part].std())

    return float(errors(test)[int(errors(validation).argmin())])


def network_of(network: str, residual: bool, s: Settings) -> tuple[es.Network, list[str]]:
    """The network before tuning, and the names of its tuned hyper-parameters."""
    levels, inputs = (1, "single") if network == "single" else (int(network.split()[0]), network.split()[1])
    given: dict[str, Any] = {"spectral_radius": s.spectral_radius, "input_scaling": s.input_scaling}
    if residual:
        given["residual"] = ["shift", *["identity"] * (levels - 1)]
    sizes = [s.units // levels] * levels
    names = ["leak_rate", "spectral_radius", "bias_scaling", "ridge"]
    if inputs in ("single", "parallel"):
        return es.parallel(sizes, **given), [*names, "input_scaling"]
    heard = "input_scaling[0]" if inputs == "first" else "input_scaling"
    return es.hierarchical(sizes, inputs=inputs, **given), [*names, "coupling", heard]


def tuned(kind: str, seed: int, settings: dict[str, Any]) -> common.Arrays:
    """Test errors of one network with one seed, by every judge, and how many numbers were tuned."""
    s = Settings(**settings)
    known = s.washout + s.train + s.validation
    u, y = es.tasks.narma(known + s.test, 10, seed)
    network, names = network_of(kind.partition(",")[0], RESIDUAL in kind, s)
    least: dict[str, Any] = {"floor": 0.0, "bounds": {"ridge": (ABSOLUTE[0], 10.0)}} if PAPER in kind else {"floor": s.floor}
    found = es.tune(
        network,
        u[:known],
        y[:known],
        names,
        seed=seed,
        washout=s.washout,
        folds=s.validation / (known - s.washout),
        test=0,
        scale=None,
        starts=s.starts,
        rounds=s.rounds,
        **least,
    )
    built = {dtype: found.network.build(1, seed=seed, dtype=dtype) for dtype in ("float64", "float32")}
    states = {dtype: esn.run(u).astype(np.float64) for dtype, esn in built.items()}
    return results(states["float64"], states["float32"], y[:, 0], s, found.history.sizes["parameter"])


def products(lags: int, seed: int, settings: dict[str, Any]) -> common.Arrays:
    """Test errors of ridge on the last inputs and their products of two, and the number of features."""
    s = Settings(**settings)
    u, y = es.tasks.narma(s.washout + s.train + s.validation + s.test, 10, seed)
    window = np.lib.stride_tricks.sliding_window_view(np.pad(u[:, 0], (lags - 1, 0)), lags)
    first, second = np.triu_indices(lags)
    features = np.hstack([window, window[:, first] * window[:, second]])
    return results(features, features.astype(np.float32).astype(np.float64), y[:, 0], s, features.shape[1])


def results(features: Floats, rounded: Floats, y: Floats, s: Settings, size: int) -> common.Arrays:
    """What every judge says, and the size."""
    found = {
        "test": judged(features, y, s, RELATIVE, True),
        "float32": judged(rounded, y, s, RELATIVE, True),
        "paper": judged(features, y, s, ABSOLUTE, False),
        "size": float(size),
    }
    return {name: np.array([value]) for name, value in found.items()}


def job(kind: str, seed: int, settings: dict[str, Any]) -> common.Arrays:
    """A network, or products of inputs."""
    return products(LAGS[kind], seed, settings) if kind in LAGS else tuned(kind, seed, settings)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=0, help="jobs at a time, each on one core (default: in this process)")
    parser.add_argument("--kinds", nargs="+", choices=[*LAGS, *KINDS], default=[*LAGS, *KINDS], help="default: all")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), help="default: 400 to 419")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "narma_wiring", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """Every kind with every seed."""
    quick = options.quick
    settings = asdict(QUICK if quick else Settings())
    kinds = ["products of 13 lags", "2 all, residual"] if quick else options.kinds
    seeds = SEEDS[:2] if quick else tuple(options.seeds)
    jobs: dict[str, dict[str, Any]] = {
        f"{kind}|{seed}": {"kind": kind, "seed": seed, "settings": settings} for seed in seeds for kind in kinds
    }
    found = common.resumed(job, jobs, None if quick else options.folder, 0 if quick else options.processes, options.minutes)
    results: dict[str, dict[str, dict[str, float]]] = {}
    for kind, seed in product(kinds, seeds):
        if f"{kind}|{seed}" in found:
            results.setdefault(kind, {})[str(seed)] = {name: each[0] for name, each in found[f"{kind}|{seed}"].items()}
    # A part of the study is a result too: the table counts the seeds of every row and names what is missing.
    return {"settings": settings, "seeds": list(seeds), "results": results}


def table(raw: common.Raw) -> str:
    """Means with standard errors over the seeds, and the kinds that were not run."""
    s, results = raw["settings"], raw["results"]
    body = []
    for kind, runs in results.items():
        each = list(runs.values())
        cells = [common.mean_and_error([run[judge] for run in each]) for judge in JUDGES]
        body.append([kind, f"{each[0]['size']:.0f}", str(len(each)), *cells])
    missing = []
    for suffix in map("".join, product(("", RESIDUAL), ("", PAPER))):
        names = [network for network in NETWORKS if network + suffix not in results]
        missing.append(f"{suffix.removeprefix(', ') or 'plain'}: {', '.join(names)}")
    lines = [
        "# NARMA10 with 100 neurons, tuned and judged by another ridge",
        "",
        common.origin(raw),
        "",
        f"{s['units']} neurons in all. `es.tune` with {s['starts']} starts of at most {s['rounds']} rounds and a floor of "
        f"{s['floor']:g}; washout {s['washout']}, training {s['train']}, validation {s['validation']}, test {s['test']} steps. "
        f"Seeds {', '.join(map(str, raw['seeds']))}; ± is the standard error of the mean. *First* and *all*: the levels that "
        "receive the input. *Size*: the number of tuned hyper-parameters, or of features. Test NRMSE of a ridge readout by "
        "singular value decomposition, its penalty chosen on validation data: relative to the mean squared singular value of "
        "the states, from 1e-8 up; the same with states in float32; and absolute, from 1e-5 up, as in the paper.",
        "",
        *common.rows(("network", "size", "seeds", *JUDGES.values()), body, left=1),
        "",
        f"Not run yet: {'; '.join(missing)}." if len(results) < len(KINDS) + len(LAGS) else "Every network was run.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("narma_wiring", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
