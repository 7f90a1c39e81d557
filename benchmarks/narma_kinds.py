"""NARMA10 with 100 neurons of several kinds, all tuned by `es.tune`: which error is left, bare and robust?

    python benchmarks/narma_kinds.py --processes 2    resumes from --folder
    python benchmarks/narma_kinds.py --quick          seconds

Kinds differ in their levels, and in how many there are. Data, split, budget and tests of robustness are those of `tuning.py`:
200 steps of washout, 5000 of training, 1500 of validation that choose, 2500 of test that report; ten seeds draw series and
weights. Every kind is tuned twice: as it is, and to withstand noise of 1e-5 on its states. NVAR, which has no neurons, stands
beside them with its ridge chosen by folds of what is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import common
import numpy as np
import tuning_methods as methods
from tuning import FRESH, QUICK, SEEN
from tuning_methods import NOISE, SETS, Problem, Settings

import echoscale as es
from echoscale.learning.tuning.losses import Squares
from echoscale.learning.tuning.space import Space
from echoscale.learning.tuning.split import prepare

# What differs from two plain levels. Those of more than two were chosen on seeds 20 to 22, which report nothing.
SPREAD = {"leak_rate": es.LogUniform(0.2, 1.0)}
KINDS: dict[str, dict[str, Any]] = {
    "two plain levels": {},
    "leak rates spread in both levels": SPREAD,
    "first level residual, shift": {"residual": ["shift", "identity"]},
    "first level residual, orthogonal": {"residual": ["orthogonal", "identity"]},
    "five plain levels": {"units": (20,) * 5},
    "five levels, the first residual, shift": {"units": (20,) * 5, "residual": ["shift", *["identity"] * 4]},
}
LAGS = (30, 40)
ROWS = ("test", "fragile_float32", "fragile_noise")


def tuned(kind: str, seed: int, noise: float, settings: dict[str, Any]) -> common.Arrays:
    """Test errors of one kind with one seed: as chosen, with states in float32, with noise on the states."""
    s = Settings(**common.tuples(settings))
    u, y = es.tasks.narma(s.length, 10, seed)
    own = {"spectral_radius": s.spectral_radius, "input_scaling": s.input_scaling, "units": s.units, **KINDS[kind]}
    network = es.hierarchical(list(own.pop("units")), **own)
    names = (*SETS["all"], "leak_spread") if "leak_rate" in own else SETS["all"]
    esn = network.build(1, seed=seed, dtype="float64")
    space = Space.of(names, esn.hyper, {})
    data = prepare(u[: s.known], y[: s.known], "mse", s.washout, s.validation / (s.known - s.washout))
    loss = Squares(esn, space, data.tuned, s.ridge)
    found = methods.tune(Problem(seed, s, network, u, y, space, loss, False, noise), 0)
    kept = {"test": found["curve_test"][-1], **{name: found[name] for name in ROWS[1:]}}
    return {name: np.ravel(np.asarray(each, np.float64)) for name, each in kept.items()}


def products(lags: int, seed: int, settings: dict[str, Any]) -> common.Arrays:
    """Test error of ridge on products of the last inputs, and how many features it has."""
    s = Settings(**common.tuples(settings))
    u, y = es.tasks.narma(s.length, 10, seed)
    model = es.NVAR(lags).fit(u[: s.known], y[: s.known])
    return {
        "test": np.array([es.nrmse(y[s.known :], model.predict(u)[s.known :])]),
        "features": np.array([float(np.size(model.readout_.coef))]),
    }


def job(kind: str, seed: int, noise: float, lags: int, settings: dict[str, Any]) -> common.Arrays:
    """One of both."""
    return products(lags, seed, settings) if lags else tuned(kind, seed, noise, settings)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, each on one core (default 1)")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS), help="some of them only")
    parser.add_argument("--seeds", nargs="+", type=int, default=[*SEEN, *FRESH], help="default: the ten of `tuning.py`")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "narma_kinds", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """Every kind, noise and seed."""
    quick = options.quick
    settings = asdict(QUICK if quick else Settings())
    seeds = (0,) if quick else tuple(options.seeds)
    lags = (3,) if quick else LAGS
    jobs: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        for many in lags if len(options.kinds) == len(KINDS) else ():
            jobs[f"NVAR, {many} lags|0|{seed}"] = {"kind": "", "seed": seed, "noise": 0.0, "lags": many, "settings": settings}
        for kind in options.kinds[: 2 if quick else None]:
            for noise in (0.0, NOISE):
                one = {"kind": kind, "seed": seed, "noise": noise, "lags": 0, "settings": settings}
                jobs[f"{kind}|{noise:g}|{seed}"] = one
    folder, processes = (None, 0) if quick else (options.folder, options.processes)
    found = common.resumed(job, jobs, folder, processes, options.minutes)
    errors: dict[str, dict[str, dict[str, float]]] = {}
    for name, each in found.items():
        way, drawn = name.rpartition("|")[::2]
        for row, values in each.items():
            errors.setdefault(way, {}).setdefault(row, {})[drawn] = float(values[0])
    return {"settings": settings, "seeds": list(seeds), "errors": errors, "complete": len(found) == len(jobs)}


def table(raw: common.Raw) -> str:
    """Means with standard errors over the seeds."""
    body = []
    for way, rows in raw["errors"].items():
        kind, noise = way.split("|")
        name = f"{kind}, tuned to withstand noise" if float(noise) else kind
        wide = f"{next(iter(rows['features'].values())):,.0f}" if "features" in rows else f"{sum(raw['settings']['units'])}"
        cells = [common.mean_and_error(list(rows[row].values()), 3) if row in rows else "" for row in ROWS]
        body.append([name, wide, *cells])
    head = ("kind", "features", "test NRMSE", "states in float32", "noise of 1e-6 on the states")
    s = raw["settings"]
    lines = [
        "# NARMA10 with neurons of several kinds",
        "",
        common.origin(raw),
        "",
        f"{sum(s['units'])} neurons in all, everything tuned by `es.tune`, {s['starts']} starts of at most "
        f"{s['rounds']} rounds; washout {s['washout']}, training {s['train']}, validation {s['validation']}, "
        f"test {s['test']} steps. Seeds {', '.join(map(str, raw['seeds']))}; ± is the standard error of the mean. In the "
        "last two columns the ridge is chosen anew on validation data.",
        "",
        *common.rows(head, body, left=1),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("narma_kinds", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
