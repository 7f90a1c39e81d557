"""NARMA10 with 100 neurons that hear their own outputs, tuned by `es.tune` for free runs: which error is left, bare and robust?

    python benchmarks/narma_feedback.py --processes 16    resumes from --folder
    python benchmarks/narma_feedback.py --quick           seconds

Data, split, budget and tests of robustness as in `tuning.py` and `narma_kinds.py`, whose networks have no feedback; units
are standardised. The network hears the targets up to the end of training, where its readout is fitted. From there on it hears
its own outputs alone: in free runs of 100 steps, which the search sees, and in one free run over all steps of validation and
test, which judges. Feedback was chosen among other ideas on seed 0: the others are evidence.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import common
import numpy as np
import numpy.typing as npt
from tuning import FRESH, QUICK, SEEN
from tuning_methods import FRAGILE_NOISE, NOISE, PATH, SETS, Settings

import echoscale as es
from echoscale.data.scaling import Scaling
from echoscale.readouts.statistics import of_rows

Floats = npt.NDArray[np.float64]

# What differs from two plain levels.
KINDS: dict[str, dict[str, Any]] = {
    "first level residual, shift": {"residual": ["shift", "identity"]},
    "two plain levels": {},
}
FEEDBACK, FREE = 0.1, 100  # its scaling at the start, and steps of the free runs that tune
ROWS = ("test", "fragile_float32", "fragile_noise")


def tuned(kind: str, seed: int, noise: float, settings: dict[str, Any]) -> common.Arrays:
    """Test errors of one kind with one seed: as chosen, with states in float32, with noise on the states."""
    s = Settings(**common.tuples(settings))
    u, y = (Scaling.of([each[: s.known]]).forward(each) for each in es.tasks.narma(s.length, 10, seed))
    shared: dict[str, Any] = {"spectral_radius": s.spectral_radius, "input_scaling": s.input_scaling}
    network = es.hierarchical(list(s.units), feedback_scaling=[FEEDBACK] * len(s.units), **shared, **KINDS[kind])
    found = es.tune(
        network,
        u[: s.known],
        y[: s.known],
        (*SETS["all"], "feedback_scaling"),
        seed=seed,
        washout=s.washout,
        folds=s.validation / (s.known - s.washout),
        test=0,
        scale=None,
        ridge=s.ridge,
        noise=noise,
        floor=0.0,
        rounds=s.rounds,
        starts=s.starts,
        closed_loop=FREE if s.validation > 4 * FREE else s.validation // 4,
    )
    chosen = np.array([found.ridge + s.train * noise**2])
    made = {
        "test": free_errors(found.network, seed, u, y, s, chosen),
        "fragile_float32": free_errors(found.network, seed, u, y, s, PATH, dtype="float32"),
        "fragile_noise": free_errors(found.network, seed, u, y, s, PATH, noise=FRAGILE_NOISE),
    }
    return {name: np.array([test[np.argmin(validation)]]) for name, (validation, test) in made.items()}


def free_errors(
    network: es.Network,
    seed: int,
    u: Floats,
    y: Floats,
    s: Settings,
    ridges: Floats,
    dtype: str = "float64",
    noise: float = 0.0,
) -> tuple[Floats, Floats]:
    """NRMSE on validation and test of a free run for every ridge, with noise on all states that a readout sees."""
    esn = network.build(1, seed=seed, dtype=dtype, n_outputs=1)
    rng = np.random.default_rng([seed, 4])
    first = s.washout + s.train
    states = esn.run(es.engine.teacher_forced(u[:first], y[:first]))
    rows = states[s.washout :].astype(np.float64)
    seen = of_rows(rows + noise * rng.standard_normal(rows.shape), y[s.washout : first])
    readouts = [es.readouts.ridge(seen, float(each)) for each in ridges]
    coef = np.stack([each.coef[0] for each in readouts], axis=1)  # (N, ridges)
    intercept = np.array([each.intercept[0] for each in readouts])
    m = esn.matrices()
    turn = np.eye(esn.units) if m.residual is None else m.residual.toarray()
    parts = (m.W.toarray(), turn, m.W_in, m.bias[:, None], m.leak_rate[:, None])
    W, turn, W_in, bias, leak = (np.asarray(each, dtype) for each in parts)
    x, heard = np.repeat(states[-1][:, None], len(ridges), axis=1), np.full(len(ridges), y[first - 1, 0]).astype(dtype)
    outputs = np.empty((s.length, len(ridges)))
    with np.errstate(all="ignore"):  # too small a ridge may leave all bounds
        for t in range(first, s.length):
            h = W @ x + W_in[:, :1] * u[t].astype(dtype) + W_in[:, 1:] * heard + bias
            x = (1 - leak) * (turn @ x) + leak * np.tanh(h)
            outputs[t] = (coef * (x + noise * rng.standard_normal((esn.units, 1)))).sum(axis=0) + intercept
            heard = outputs[t].astype(dtype)
        validation, test = (
            np.sqrt(((outputs[part] - y[part]) ** 2).mean(axis=0)) / y[part].std()
            for part in (slice(first, s.known), slice(s.known, s.length))
        )
    return np.nan_to_num(validation, nan=np.inf), np.nan_to_num(test, nan=np.inf)


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, each on one core (default 1)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--kinds", type=int, default=len(KINDS), help="only so many of the kinds (default: all)")
    parser.add_argument("--bare", action="store_true", help="leave out what is tuned to withstand noise")
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "narma_feedback", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """Every kind, noise and seed."""
    quick = options.quick
    settings = asdict(QUICK if quick else Settings())
    seeds, noises = ((0,), (0.0,)) if quick else ((*SEEN, *FRESH), (0.0,) if options.bare else (0.0, NOISE))
    jobs = {
        f"{kind}|{noise:g}|{seed}": {"kind": kind, "seed": seed, "noise": noise, "settings": settings}
        for kind in list(KINDS)[: 1 if quick else options.kinds]
        for noise in noises
        for seed in seeds
    }
    folder, processes = (None, 0) if quick else (options.folder, options.processes)
    found = common.resumed(tuned, jobs, folder, processes, options.minutes)
    errors: dict[str, dict[str, dict[str, float]]] = {}
    for name, each in found.items():
        way, drawn = name.rpartition("|")[::2]
        for row, values in each.items():
            errors.setdefault(way, {}).setdefault(row, {})[drawn] = float(values[0])
    return {"settings": settings, "free": FREE, "seeds": list(seeds), "errors": errors, "complete": len(found) == len(jobs)}


def table(raw: common.Raw) -> str:
    """Medians, means with standard errors, and the worst seed."""
    body = []
    for way, rows in raw["errors"].items():
        kind, noise = way.split("|")
        name = f"{kind}, tuned to withstand noise" if float(noise) else kind
        bare = list(rows["test"].values())
        cells = [
            f"{np.median(bare):.3f}",
            f"{max(bare):.3g}",
            *(common.mean_and_error(list(rows[row].values()), 3) for row in ROWS),
        ]
        body.append([name, str(len(bare)), *cells])
    head = ("kind", "seeds", "median", "worst", "test NRMSE", "states in float32", "noise of 1e-6 on the states")
    s = raw["settings"]
    lines = [
        "# NARMA10 with output feedback",
        "",
        common.origin(raw),
        "",
        f"{sum(s['units'])} neurons in two levels that hear the output of the step before, everything tuned by `es.tune` for "
        f"free runs of {raw['free']} steps, {s['starts']} starts of at most {s['rounds']} rounds; washout {s['washout']}, "
        f"training {s['train']}, validation {s['validation']}, test {s['test']} steps. The network hears targets up to the end "
        f"of training, then its own outputs alone, for {s['validation'] + s['test']} steps. Seeds "
        f"{', '.join(map(str, raw['seeds']))}; ± is the standard error of the mean. In the last two columns the ridge is "
        "chosen anew on validation data.",
        "",
        *common.rows(head, body, left=1),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("narma_feedback", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
