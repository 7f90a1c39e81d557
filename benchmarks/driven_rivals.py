"""What people use to map inputs to an output: ridge regression on lags, integrals or products, trees, a GRU, reservoirpy.

A rival is a function (u, y, v, seed, seconds) -> predictions for v, the inputs after the training data u, y. Rivals that search
do so until they have used the given seconds of processor time. Written without this library.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from real_data import RELATIVE, blocks, ridge_forecasts
from scipy.signal import lfilter

Floats = npt.NDArray[np.float64]
Rival = Callable[[Floats, Floats, Floats, int, float], Floats]

WINDOWS = (1, 2, 5, 10, 20, 40, 80, 160)
TIME_CONSTANTS: Floats = 2.0 ** np.arange(10, dtype=np.float64)  # of leaky integrals, in steps
MOST_COLUMNS = 800
VALIDATION = 4  # the last of so many parts of the training data
SEARCH = 0.8  # of the seconds: the rest is for the last fit


# -------------------------------------------------------------------------------------------------------- ridge regression


def lags(u: Floats, window: int, stride: int = 1) -> Floats:
    """u(t), u(t - stride), ...: the mean of the inputs stands before the start."""
    before = np.broadcast_to(u.mean(axis=0), (window * stride, u.shape[1]))
    padded = np.concatenate([before, u])
    return np.concatenate([padded[(window - k) * stride :][: len(u)] for k in range(window)], axis=1)


def integrals(u: Floats, constants: Floats) -> Floats:
    """Exponential means of every input, and the input itself: the mean of the inputs stands before the start."""
    shifted = u - u.mean(axis=0)
    each = [lfilter([1 - np.exp(-1 / tau)], [1, -np.exp(-1 / tau)], shifted, axis=0) for tau in constants]
    return np.concatenate([shifted, *each], axis=1)


def with_products(x: Floats) -> Floats:
    """The columns, standardised, and their products by twos."""
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
    pairs = itertools.combinations_with_replacement(range(x.shape[1]), 2)
    return np.concatenate([x, *(x[:, [i]] * x[:, [j]] for i, j in pairs)], axis=1)


def best_ridge(choices: Callable[[Floats], Iterator[Floats]], u: Floats, y: Floats, v: Floats, *_: Any) -> Floats:
    """Features and penalty by five blocks of time."""
    rows, test = np.arange(min(100, len(u) // 10), len(u)), np.arange(len(u), len(u) + len(v))
    target, least, found = y[:, 0], np.inf, np.empty(0)
    for x in choices(np.concatenate([u, v])):
        # Columns in units of the training data, so that one penalty suits all.
        x = x / np.maximum(x[rows].std(axis=0), 1e-12)
        errors = sum(
            ((ridge_forecasts(x, target, train, out, RELATIVE) - target[out]) ** 2).sum(axis=1)
            for train, out in blocks(rows, 1)
        )
        place = int(np.argmin(errors))
        if errors[place] < least:
            least = errors[place]
            found = ridge_forecasts(x, target, rows, test, RELATIVE[place : place + 1])[0]
    return found


def of_lags(u: Floats) -> Iterator[Floats]:
    """Windows of the inputs; at least one, whatever the number of columns."""
    return (lags(u, window) for window in WINDOWS if window == 1 or window * u.shape[1] <= MOST_COLUMNS)


def of_integrals(u: Floats) -> Iterator[Floats]:
    """Leaky integrals of the inputs up to several time constants, and their products where there are few."""
    for count in (4, 6, 8, 10):
        x = integrals(u, TIME_CONSTANTS[:count])
        yield x
        if x.shape[1] * (x.shape[1] + 3) / 2 <= MOST_COLUMNS:
            yield with_products(x)


def of_products(u: Floats) -> Iterator[Floats]:
    """NVAR: lags and their products, over several reaches into the past."""
    for window, stride in itertools.product((2, 3, 5, 8, 12), (1, 2, 5, 12)):
        columns = window * u.shape[1]
        if columns * (columns + 3) / 2 <= MOST_COLUMNS:
            yield with_products(lags(u, window, stride))


# --------------------------------------------------------------------------------------------------------------- searches


def lightgbm(u: Floats, y: Floats, v: Floats, seed: int, seconds: float) -> Floats:
    """Boosted trees on lags: settings are drawn, and judged with early stopping on the last quarter of the training data."""
    import lightgbm as lgb

    began, rng = time.process_time(), np.random.default_rng(seed)
    cut = len(u) - len(u) // VALIDATION
    whole = np.concatenate([u, v])
    best: tuple[float, int, dict[str, Any], int] = (np.inf, 0, {}, 0)
    while best[1] == 0 or time.process_time() - began < SEARCH * seconds:
        window = int(rng.choice([each for each in WINDOWS if each == 1 or each * u.shape[1] <= MOST_COLUMNS]))
        settings = {
            "num_leaves": int(rng.choice([4, 8, 16, 31])),
            "learning_rate": float(rng.choice([0.03, 0.1])),
            "min_data_in_leaf": int(rng.choice([5, 20, 50])),
            "feature_fraction": float(rng.choice([0.5, 1.0])),
            "objective": "l2",
            "num_threads": 1,
            "verbosity": -1,
            "seed": seed,
        }
        x = lags(whole, window)
        train = lgb.Dataset(x[:cut], y[:cut, 0])
        judge = lgb.Dataset(x[cut : len(u)], y[cut:, 0], reference=train)
        model = lgb.train(settings, train, 1000, valid_sets=[judge], callbacks=[lgb.early_stopping(30, verbose=False)])
        error = model.best_score["valid_0"]["l2"]
        if error < best[0]:
            best = error, window, settings, model.best_iteration
    _, window, settings, rounds = best
    x = lags(whole, window)
    return np.asarray(lgb.train(settings, lgb.Dataset(x[: len(u)], y[:, 0]), rounds).predict(x[len(u) :]))


def reservoirpy(u: Floats, y: Floats, v: Floats, seed: int, seconds: float) -> Floats:
    """Random search over units, leak rate, radius, input scaling, bias and ridge, judged on the last quarter of training."""
    from reservoirpy.nodes import Reservoir, Ridge

    began, rng = time.process_time(), np.random.default_rng(seed)
    mean, spread, level, size = u.mean(axis=0), u.std(axis=0), y.mean(), y.std()
    whole, target = (np.concatenate([u, v]) - mean) / np.maximum(spread, 1e-12), (y - level) / size
    cut = len(u) - len(u) // VALIDATION

    def predicted(settings: dict[str, Any], penalty: float, end: int, last: int) -> Floats:
        states = Reservoir(seed=seed, **settings).run(whole[:last])
        washout = min(100, end // 10)
        return np.asarray(Ridge(ridge=penalty).fit(states[washout:end], target[washout:end]).run(states[end:]))[:, 0]

    best: tuple[float, dict[str, Any], float] = (np.inf, {}, 0.0)
    while not best[1] or time.process_time() - began < SEARCH * seconds:
        settings = {
            "units": int(np.exp(rng.uniform(np.log(50), np.log(400)))),
            "lr": float(np.exp(rng.uniform(np.log(0.003), 0))),
            "sr": float(np.exp(rng.uniform(np.log(0.1), np.log(1.3)))),
            "input_scaling": float(np.exp(rng.uniform(np.log(0.01), np.log(3)))),
            "bias": 1.0,
        }
        penalty = float(np.exp(rng.uniform(np.log(1e-7), np.log(1e2))))
        error = float(((predicted(settings, penalty, cut, len(u)) - target[cut:, 0]) ** 2).mean())
        if error < best[0] or not best[1]:
            best = error if np.isfinite(error) else np.inf, settings, penalty
    return np.asarray(predicted(best[1], best[2], len(u), len(whole)) * size + level)


# -------------------------------------------------------------------------------------------------------------------- GRU

UNITS, PIECE, SKIPPED, BATCH, RATE, EVERY = 32, 200, 50, 16, 3e-3, 50


def gru(u: Floats, y: Floats, v: Floats, seed: int, seconds: float) -> Floats:
    """A gated recurrent unit of 32 neurons, trained with Adam on pieces of 200 steps.

    Half of the seconds find the number of updates that is best for the last quarter of the training data; then as many updates
    are made on all of it.
    """
    import jax
    import jax.numpy as jnp
    import optax

    mean, spread, level, size = u.mean(axis=0), np.maximum(u.std(axis=0), 1e-12), y.mean(), y.std()
    whole = ((np.concatenate([u, v]) - mean) / spread).astype(np.float32)
    target = ((y - level) / size).astype(np.float32)[:, 0]
    piece = min(PIECE, len(u) // 3)
    skipped = min(SKIPPED, piece // 4)

    def run(weights: Any, x: Any) -> Any:
        def step(h: Any, each: Any) -> tuple[Any, Any]:
            gates = jax.nn.sigmoid(each[: 2 * UNITS] + h @ weights["gates"])
            new = jnp.tanh(each[2 * UNITS :] + (gates[:UNITS] * h) @ weights["new"])
            h = h + gates[UNITS:] * (new - h)
            return h, h @ weights["out"]

        return jax.lax.scan(step, jnp.zeros(UNITS), x @ weights["in"] + weights["bias"])[1] + weights["level"]

    def loss(weights: Any, x: Any, wanted: Any) -> Any:
        return ((jax.vmap(run, (None, 0))(weights, x)[:, skipped:] - wanted[:, skipped:]) ** 2).mean()

    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(RATE))

    @jax.jit
    def update(weights: Any, state: Any, x: Any, wanted: Any) -> tuple[Any, Any]:
        changes, state = optimiser.update(jax.grad(loss)(weights, x, wanted), state)
        return optax.apply_updates(weights, changes), state

    def trained(end: int) -> Iterator[tuple[int, Any]]:
        """Weights after every 50 updates with pieces of the first steps."""
        rng, keys = np.random.default_rng(seed), jax.random.split(jax.random.key(seed), 4)
        normal = jax.random.normal
        weights = {
            "in": normal(keys[0], (u.shape[1], 3 * UNITS)) / np.sqrt(u.shape[1]),
            "gates": normal(keys[1], (UNITS, 2 * UNITS)) / np.sqrt(UNITS),
            "new": normal(keys[2], (UNITS, UNITS)) / np.sqrt(UNITS),
            "out": normal(keys[3], (UNITS,)) / np.sqrt(UNITS),
            # Gates that open slowly: a memory of some ten steps to begin with.
            "bias": jnp.concatenate([jnp.zeros(UNITS), jnp.linspace(-5.0, 0.0, UNITS), jnp.zeros(UNITS)]),
            "level": jnp.zeros(()),
        }
        state = optimiser.init(weights)
        for done in itertools.count(1):
            places = rng.integers(0, end - piece + 1, BATCH)[:, None] + np.arange(piece)
            weights, state = update(weights, state, whole[places], target[places])
            if done % EVERY == 0:
                yield done, jax.block_until_ready(weights)  # type: ignore[no-untyped-call]

    cut, forecast = len(u) - len(u) // VALIDATION, jax.jit(run)
    began, best = time.process_time(), (np.inf, EVERY)
    for done, weights in trained(cut):
        error = float(((np.asarray(forecast(weights, whole[: len(u)]))[cut:] - target[cut:]) ** 2).mean())
        best = min(best, (error, done))
        if time.process_time() - began > seconds / 2:
            break
    weights = next(weights for done, weights in trained(len(u)) if done == best[1])
    return np.asarray(np.asarray(forecast(weights, whole), np.float64)[len(u) :] * size + level)


RIVALS: dict[str, Rival] = {
    "ridge on lags": partial(best_ridge, of_lags),
    "ridge on leaky integrals": partial(best_ridge, of_integrals),
    "NVAR": partial(best_ridge, of_products),
    "LightGBM on lags": lightgbm,
    "reservoirpy": reservoirpy,
    "GRU": gru,
}
BY_CHANCE = ("LightGBM on lags", "reservoirpy", "GRU")
NEEDS = {"LightGBM on lags": "lightgbm", "reservoirpy": "reservoirpy"}
