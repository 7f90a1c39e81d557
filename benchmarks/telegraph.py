"""How close do 100 neurons come to the best possible observer of the noisy telegraph, and what brings them there?

    python benchmarks/telegraph.py --processes 16    everything that is not finished yet: minutes on 16 cores
    python benchmarks/telegraph.py --minutes 20      begin no job after so long; run it again to go on
    python benchmarks/telegraph.py --quick           small sizes, seconds

p1 = 0.05, p2 = 0.1, p3 = 0.0005. One seed draws the weights and four sets of series: the hyper-parameters of the network are
learned on the first, readouts on the second, candidates are chosen by the cross-entropy on the third, and accuracies are those
on the fourth, beside the ceiling (`es.tasks.telegraph_filter`) of the very same steps. All hyper-parameters are learned online
by the gradient of the softmax loss; the softmax readout is then fitted anew to the states of the frozen network.

Jobs (noise, seed, candidate) are kept in `--folder`, and not done again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from scipy.optimize import minimize

import echoscale as es
from echoscale.learning import Adam, OnlineLearner

NOISES = (0.5, 1.0, 2.0)
SEEDS = (1, 2, 3)  # the candidates were made on seed 0


@dataclass(frozen=True)
class Settings:
    """All that determines the numbers, but for noise and seed: sequences and counted steps of every set of series.

    stream_*  numbers and online readouts learn from it, `stream_steps` of all sequences at once
    """

    washout: int = 2_000
    stream_sequences: int = 32
    stream_steps: int = 200_000
    train: int = 200
    validation: int = 40
    test: int = 20
    length: int = 20_000
    iterations: int = 150


FULL = Settings()
QUICK = Settings(washout=200, stream_sequences=4, stream_steps=500, train=2, validation=2, test=2, length=1_000, iterations=5)


class Candidate(NamedTuple):
    """A network, how its numbers are learned, and which readouts it gets.

    units    of every reservoir; `joined` in a chain, or side by side
    rate     of Adam, for the logit or logarithm of every number; 0: they stay
    online   the loss of a readout that is learned online; "": readouts are fitted to the states of the training series
    """

    units: tuple[int, ...]
    joined: bool
    leak_rate: tuple[float, ...]
    spectral_radius: float
    input_scaling: tuple[float, ...]
    bias_scaling: float
    coupling: float
    rate: float = 0.0
    online: str = ""


def _pair(name: str, units: tuple[int, ...], joined: bool, gentle: Any, bold: Any, radii: tuple[float, float]) -> Any:
    """Two starts: near the linear regime and learned slowly, or far from it and learned fast; validation chooses."""
    deeper = 0.2 if joined else 1.0  # of the input that levels behind the first hear
    first, second = (tuple(gamma * (deeper if k else 1.0) for k in range(len(units))) for gamma in (0.2, 0.5))
    yield f"{name}, gentle", Candidate(units, joined, gentle, radii[0], first, 0.1, 0.3, 1e-4)
    yield f"{name}, bold", Candidate(units, joined, bold, radii[1], second, 0.5, 0.3, 4e-4)


PAPER = Candidate((50, 50), True, (0.5, 0.005), 0.1, (0.2, 0.0), 0.0, 1.0)
CANDIDATES: dict[str, Candidate] = {
    "paper": PAPER,
    "paper, mse online": PAPER._replace(online="mse"),
    "paper, softmax online": PAPER._replace(online="softmax"),
    **dict(_pair("single", (100,), False, (0.1,), (0.1,), (0.9, 0.9))),
    **dict(_pair("parallel", (25,) * 4, False, (0.5, 0.1, 0.02, 0.004), (0.9, 0.3, 0.02, 0.004), (0.3, 0.5))),
    **dict(_pair("two levels", (50, 50), True, (0.3, 0.005), (0.7, 0.005), (0.3, 0.5))),
    **dict(_pair("four levels", (25,) * 4, True, (0.5, 0.1, 0.02, 0.004), (0.9, 0.3, 0.02, 0.004), (0.3, 0.5))),
}
for _start in ("gentle", "bold"):
    CANDIDATES[f"four levels as begun, {_start}"] = CANDIDATES[f"four levels, {_start}"]._replace(rate=0.0)


class Row(NamedTuple):
    """A line of the report: which candidates compete for it, and with which readout."""

    text: str
    candidates: tuple[str, ...]
    readout: str


def _both(name: str) -> tuple[str, str]:
    return f"{name}, gentle", f"{name}, bold"


ROWS = (
    Row("paper's network: one-hot targets, online", ("paper, mse online",), "mse online"),
    Row("… one-hot targets, ridge", ("paper",), "one-hot"),
    Row("… state and regime, two ridge outputs", ("paper",), "columns"),
    Row("… softmax online", ("paper, softmax online",), "softmax online"),
    Row("… softmax", ("paper",), "softmax"),
    Row("four levels as begun, softmax", _both("four levels as begun"), "softmax"),
    Row("one reservoir of 100, tuned, softmax", _both("single"), "softmax"),
    Row("four side by side, tuned, softmax", _both("parallel"), "softmax"),
    Row("two levels, tuned, softmax", _both("two levels"), "softmax"),
    Row("four levels, tuned, one-hot ridge", _both("four levels"), "one-hot"),
    Row("**four levels, tuned, softmax**", _both("four levels"), "softmax"),
)


def work(noise: float, seed: int, name: str, settings: dict[str, Any]) -> common.Arrays:
    """One job: learn the hyper-parameters, fit the readouts, score them on validation and test."""
    warnings.simplefilter("ignore", es.EchoStateWarning)  # a radius above 1 that was learned did well
    given = Settings(**settings)
    candidate, series = CANDIDATES[name], _Series(noise, seed, given)
    esn, found, learned = _network(candidate).build(1, seed=seed), {}, {}
    if candidate.rate or candidate.online:
        learner = _learned(esn, candidate, series, given)
        learned = {f"learned; {key}": value for key, value in zip(learner.learned, learner.values[0], strict=True)}
        if candidate.online:
            found[f"{candidate.online} online"] = learner.readout
        else:
            esn = learner.network.build(1, seed=seed)
    if not candidate.online:
        found = _fitted(esn, series.of("train"), given)
    scores = {
        f"{part}; {readout}; {kind}": values
        for part in ("validation", "test")
        for readout, each in _scores(esn, found, series.of(part), noise, given.washout).items()
        for kind, values in each.items()
    }
    return {name: np.ravel(np.asarray(values, np.float64)) for name, values in {**learned, **scores}.items()}


class _Series:
    """The four sets of series of a seed."""

    def __init__(self, noise: float, seed: int, settings: Settings) -> None:
        self.noise, self.seed, self.settings = noise, seed, settings

    def of(self, part: str) -> Any:
        parts, s = ("stream", "train", "validation", "test"), self.settings
        count = s.stream_sequences if part == "stream" else getattr(s, part)
        length = s.washout + (s.stream_steps if part == "stream" else s.length)
        return es.tasks.telegraph(length, 10_000 + 10 * self.seed + parts.index(part), sequences=count, noise=self.noise)


def _network(candidate: Candidate) -> Any:
    numbers: dict[str, Any] = {
        "leak_rate": candidate.leak_rate,
        "spectral_radius": candidate.spectral_radius,
        "input_scaling": candidate.input_scaling,
        "bias_scaling": candidate.bias_scaling,
    }
    if candidate.joined:
        return es.hierarchical(candidate.units, coupling=candidate.coupling, **numbers)
    return es.parallel(candidate.units, **numbers)


def _learned(esn: Any, candidate: Candidate, series: _Series, settings: Settings) -> Any:
    """An online learner after the stream: of all numbers, or of a readout alone, which is averaged over the second half."""
    names = ["leak_rate", "spectral_radius", "input_scaling", "bias_scaling", *(["coupling"] if candidate.joined else [])]
    learner = OnlineLearner(
        esn.network,
        4,
        parameters=names if candidate.rate else (),
        loss=candidate.online or "softmax",
        readout=Adam(1e-3),
        rates=Adam(candidate.rate or 1e-4, beta1=0.99),
        constraint="logistic",
        washout=settings.washout,
        average=settings.washout + settings.stream_steps // 2 if candidate.online else None,
        record=settings.stream_steps // 10,
        seed=esn.seed,
    )
    data = series.of("stream")
    return learner.partial_fit(data.u, _one_hot(data.joint) if candidate.online == "mse" else data.joint)


def _one_hot(labels: Any) -> Any:
    return np.eye(4)[labels]


def _fitted(esn: Any, data: Any, settings: Settings) -> dict[str, Any]:
    """The three readouts on the states of the training series: two by ridge regression, one by softmax regression."""
    total: Any = None
    pieces = [slice(k, k + 20) for k in range(0, len(data.u), 20)]  # so that no more states are kept than needed
    for piece in pieces:
        labels = [data.state[piece, :, None], data.regime[piece, :, None]]
        targets = np.concatenate([_one_hot(data.joint[piece]), *labels], axis=-1)
        part = es.readouts.statistics(esn, data.u[piece], targets, washout=settings.washout)
        total = part if total is None else total + part
    linear = es.readouts.ridge(total, 1e-5)
    one_hot, columns = (
        es.readouts.Readout(linear.coef[which], linear.intercept[which], linear.ridge) for which in (slice(0, 4), slice(4, 6))
    )
    return {"one-hot": one_hot, "columns": columns, "softmax": _softmax_regression(esn, data, total, pieces, settings)}


def _softmax_regression(esn: Any, data: Any, total: Any, pieces: Iterable[slice], settings: Settings) -> Any:
    """min over W, b of the mean of -log softmax(W x + b)[class], by L-BFGS in coordinates in which the states are white.

    There the curvature is nearly the same in all directions, and some tens of steps suffice. Directions in which float32 states
    hardly differ are left out.
    """
    mean, scatter = total.mean[: esn.units], total.scatter[: esn.units, : esn.units]
    values, vectors = np.linalg.eigh(scatter / total.count)
    kept = values > 1e-10 * values[-1]
    white = vectors[:, kept] / np.sqrt(values[kept])
    labels = data.joint[:, settings.washout :].ravel()
    rows = np.ones((len(labels), white.shape[1] + 1), np.float32)
    at = 0
    for piece in pieces:
        states = esn.run(data.u[piece])[:, settings.washout :].reshape(-1, esn.units)
        rows[at : at + len(states), :-1] = (states - mean) @ white
        at += len(states)
    shape = (rows.shape[1], 4)

    def loss(flat: Any) -> tuple[float, Any]:
        weights, value, slope = flat.reshape(shape).astype(np.float32), 0.0, np.zeros(shape)
        for k in range(0, len(rows), 50_000):
            block, label = rows[k : k + 50_000], labels[k : k + 50_000]
            chance = _softmax(block @ weights)
            at_label = (np.arange(len(label)), label)
            value -= float(np.log(np.maximum(chance[at_label], 1e-30)).sum(dtype=np.float64))
            chance[at_label] -= 1
            slope += block.T @ chance
        return value / len(rows), slope.ravel() / len(rows)

    options: Any = {"maxiter": settings.iterations, "ftol": 1e-8, "gtol": 1e-6}
    best = minimize(loss, np.zeros(shape[0] * 4), jac=True, method="L-BFGS-B", options=options).x.reshape(shape)
    coef = (white @ best[:-1]).T
    return es.readouts.Readout(coef, best[-1] - coef @ mean, np.zeros(()))


def _softmax(outputs: Any) -> Any:
    chance = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return chance / chance.sum(axis=-1, keepdims=True)


def _scores(esn: Any, readouts: dict[str, Any], data: Any, noise: float, washout: int) -> dict[str, Any]:
    """Accuracies of every sequence for all readouts and the ceiling, and the cross-entropy where there are probabilities."""
    states = esn.run(data.u)[:, washout:].astype("float64")
    scores = {"ceiling": _judged(es.tasks.telegraph_filter(data.u, noise=noise).joint[:, washout:], data, washout)}
    for name, readout in readouts.items():
        outputs = states @ readout.coef.T + readout.intercept
        if name == "columns":
            scores[name] = _right({"state": outputs[..., 0] > 0.5, "regime": outputs[..., 1] > 0.5}, data, washout)
        elif name.startswith("softmax"):
            scores[name] = _judged(_softmax(outputs), data, washout)
        else:  # one-hot outputs are probabilities up to their errors, and are summed and compared as such
            scores[name] = _right(es.tasks.Posterior(outputs).decisions, data, washout)
    return scores


def _judged(joint: Any, data: Any, washout: int) -> dict[str, list[float]]:
    labels = data.joint[:, washout:, None].astype(np.int64)
    entropy = -np.log(np.maximum(np.take_along_axis(joint, labels, axis=-1), 1e-30)).mean(axis=(1, 2))
    return {**_right(es.tasks.Posterior(joint).decisions, data, washout), "entropy": entropy.tolist()}


def _right(decisions: dict[str, Any], data: Any, washout: int) -> dict[str, list[float]]:
    """The share of right decisions of every sequence. Without a joint decision, both parts must be right."""
    right = {name: found == getattr(data, name)[:, washout:] for name, found in decisions.items()}
    if "joint" not in right:
        right["joint"] = right["state"] & right["regime"]
    return {name: each.mean(axis=1).tolist() for name, each in right.items()}


def extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, each on one core (default 1)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after so long")
    parser.add_argument("--folder", type=Path, default=common.HERE.parent / "out" / "telegraph", help="resumes from it")


def measure(options: argparse.Namespace) -> common.Raw:
    """All jobs; the longest first: many hyper-parameters in chains, then the rest."""
    quick = options.quick
    settings = json.loads(json.dumps(asdict(QUICK if quick else FULL)))
    noises, seeds = (NOISES[:1], SEEDS[:1]) if quick else (NOISES, SEEDS)
    names = ["paper", "paper, mse online", *_both("single")] if quick else list(CANDIDATES)
    order = sorted(names, key=lambda name: -bool(CANDIDATES[name].rate) * len(CANDIDATES[name].units))
    wanted = {
        _key(noise, seed, name): {"noise": noise, "seed": seed, "name": name, "settings": settings}
        for name in order
        for seed in seeds
        for noise in noises
    }
    folder, processes = (None, 0) if quick else (options.folder, options.processes)
    found = common.resumed(work, wanted, folder, processes, options.minutes)
    return {
        "settings": settings,
        "noises": list(noises),
        "seeds": list(seeds),
        "wanted": len(wanted),
        "complete": len(found) == len(wanted),
        "jobs": found,
    }


def table(raw: common.Raw) -> str:
    """The tables of every noise, and what was learned."""
    s, found = raw["settings"], raw["jobs"]
    lines = [
        "# The noisy telegraph: how close to the best possible observer?",
        "",
        common.origin(raw),
        "",
        f"Seeds {', '.join(map(str, raw['seeds']))}, {len(found)} of {raw['wanted']} jobs. 100 neurons in all; p1 = 0.05, "
        "p2 = 0.1, p3 = 0.0005; float32.",
        "",
        "One seed draws the weights and four sets of series. Stream, on which hyper-parameters and online readouts learn: "
        f"{s['stream_sequences']} sequences of {s['stream_steps']:,} steps at once. Training of the other readouts: "
        f"{s['train']} × "
        f"{s['length']:,} steps; validation {s['validation']} × {s['length']:,}; test {s['test']} × {s['length']:,}; "
        "each after a "
        f"washout of {s['washout']:,}. Where two starts compete (gentle, bold: see the script), that with the smaller "
        "cross-entropy on the validation series is shown; test series are held out. The candidates were made while looking at "
        "seed 0, which is not among the seeds.",
        "",
        "*Joint* is the accuracy for the four classes, *state* and *regime* that of its two parts (marginals of the same "
        "outputs): mean over the seeds. *Ratio* is joint over the ceiling's joint on the same steps, mean ± standard error "
        "over the seeds; *(paired)* is its standard error from the differences to the ceiling between all test sequences; "
        "*least* is the worst seed.",
    ]
    for noise in raw["noises"]:
        body, learned = _table(found, noise, raw["seeds"])
        if body:
            lines += ["", f"## Noise {noise:g}", "", *body, "", *learned]
    return "\n".join(lines) + "\n"


def _table(found: dict[str, Any], noise: float, seeds: Sequence[int]) -> tuple[list[str], list[str]]:
    body: list[list[str]] = []
    learned: list[str] = []
    ceiling: dict[str, Any] = {}
    for row in ROWS:
        chosen = _chosen(found, noise, seeds, row)
        if not chosen:
            continue
        tests = [found[_key(noise, seed, name)] for seed, name in chosen.items()]
        accuracy, ceiling = (
            {part: np.array([each[f"test; {kind}; {part}"] for each in tests]) for part in ("joint", "state", "regime")}
            for kind in (row.readout, "ceiling")
        )
        ratio = accuracy["joint"].mean(axis=1) / ceiling["joint"].mean(axis=1)
        apart = accuracy["joint"] - ceiling["joint"]
        paired = apart.std(ddof=1) / np.sqrt(apart.size) / ceiling["joint"].mean() if apart.size > 1 else np.nan
        shares = [f"{accuracy[part].mean():.4f}" for part in accuracy]
        rest = [common.mean_and_error(ratio, 4), f"{paired:.4f}", f"{ratio.min():.4f}", str(len(ratio))]
        body.append([row.text, *shares, *rest])
        if len(row.candidates) > 1 and row.readout == "softmax" and "begun" not in row.text:
            learned += _values(found, noise, row, chosen)
    if body:
        shares = [f"{ceiling[part].mean():.4f}" for part in ceiling]
        body.append(["*ceiling*", *shares, "1", "", "", body[-1][-1]])
    return common.rows(("", "joint", "state", "regime", "ratio", "(paired)", "least", "seeds"), body) if body else [], learned


def _chosen(found: dict[str, Any], noise: float, seeds: Sequence[int], row: Row) -> dict[int, str]:
    """The candidate of every seed that validation prefers; a seed counts when all of its candidates are there."""
    chosen = {}
    for seed in seeds:
        there = [name for name in row.candidates if _key(noise, seed, name) in found]
        if len(there) < len(row.candidates):
            continue
        if len(there) == 1:
            chosen[seed] = there[0]
        else:
            by = {name: sum(found[_key(noise, seed, name)]["validation; softmax; entropy"]) for name in there}
            chosen[seed] = min(by, key=lambda name: by[name])
    return chosen


def _values(found: dict[str, Any], noise: float, row: Row, chosen: dict[int, str]) -> list[str]:
    """What was learned: median over the seeds, least to largest."""
    every = [found[_key(noise, seed, name)] for seed, name in chosen.items()]
    begun = [name.rpartition(", ")[2] for name in chosen.values()]
    parts = []
    for key in (key for key in every[0] if key.startswith("learned; ")):
        values = [each[key][0] for each in every]
        parts.append(f"{key.removeprefix('learned; ')} {np.median(values):.2g} ({min(values):.2g} to {max(values):.2g})")
    starts = ", ".join(f"{begun.count(start)} × {start}" for start in dict.fromkeys(begun))
    return [f"- {row.text.strip('*')} (chosen: {starts}): {'; '.join(parts)}."]


def _key(noise: float, seed: int, name: str) -> str:
    return f"{noise:g}; {seed}; {name}"


def main(arguments: Sequence[str] | None = None) -> common.Raw:
    return common.main("telegraph", __doc__, measure, table, arguments=arguments, extend=extend)


if __name__ == "__main__":
    main()
