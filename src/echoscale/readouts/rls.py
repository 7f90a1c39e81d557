"""Recursive least squares: the ridge readout kept up to date at every step, with forgetting.

    W(t) = argmin over W of   sum over s <= t of f^(t-s) |y(s) - W x(s) - b|^2  +  ridge |W|^2,      f = `forgetting`

With P = (S_xx + ridge I)^-1 and new rows A of features and D of targets, one step is (Woodbury; f = 1 forgets nothing)

    P <- P / f,    L L^T = I + A P A^T,    V = L^-1 A P,    W <- W + V^T L^-1 (D - A W),    P <- P - V^T V

The intercept is not penalised: rows are centred at their own mean, and one more row carries the distance of that mean from the
mean so far (Chan, Golub and LeVeque 1983). S_xx is therefore the centred scatter, and a pass without forgetting gives
`es.readouts.ridge` of the same rows. Forgetting would also forget the penalty, and P would grow without bound in directions
without input. Each step therefore restores the penalty of a few features, and of all features within the memory of 1 / (1 - f)
steps.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import numpy.typing as npt
from jax import Array

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import as_numbers
from echoscale.engine.devices import one_thread, precision_and_device
from echoscale.readouts.ridge import Readout

# Number of rows of one compiled call; fewer rows are possible.
BUFFER = 256


class RLSState(NamedTuple):
    """The state of recursive least squares, in float64.

    weight      ()      number of rows so far, weighted by the forgetting
    mean        (F,)    mean of the features
    target      (O,)    mean of the targets
    coef        (F, O)
    inverse     (F, F)  P
    turn        ()      the first feature whose penalty is restored at the next step
    """

    weight: Array
    mean: Array
    target: Array
    coef: Array
    inverse: Array
    turn: Array


def init(features: int, outputs: int, ridge: float) -> RLSState:
    """The state before the first row: W = 0 and P = I / ridge, as NumPy arrays."""
    sizes = (), (features,), (outputs,), (features, outputs)
    leaves: list[Any] = [*(np.zeros(size) for size in sizes), np.eye(features) / ridge, np.zeros((), np.int32)]
    return RLSState(*leaves)


def update(
    state: RLSState,
    x: Array,
    y: Array,
    *,
    ridge: float | Array,
    forgetting: float | Array = 1.0,
    back: int = 0,
    counts: Array | None = None,
) -> RLSState:
    """One step of the equations above with R rows, with one forgetting. A pure function for compiled programs."""
    features = x.shape[1]
    shown = jnp.ones(len(x), bool) if counts is None else counts
    rows = jnp.sum(shown, dtype=state.weight.dtype)
    some = rows > 0
    keep = jnp.where(some, forgetting, 1.0)
    before = keep * state.weight
    after = before + rows
    given = jnp.where(shown[:, None], jnp.concatenate([x, y], axis=1), 0.0)
    centre = jnp.concatenate([state.mean, state.target])
    middle = jnp.where(some, jnp.sum(given, axis=0) / jnp.maximum(rows, 1.0), centre)
    apart = (middle - centre)[None] * jnp.sqrt(jnp.where(some, before * rows / jnp.maximum(after, 1.0), 0.0))
    given = jnp.concatenate([jnp.where(shown[:, None], given - middle, 0.0), apart])
    centre = centre + jnp.where(some, rows / jnp.maximum(after, rows), 0.0) * (middle - centre)
    mean, target = centre[:features], centre[features:]
    if back:
        places = (state.turn + jnp.arange(back)) % features
        size = jnp.sqrt((1.0 - keep) * ridge * features / back)
        given = jnp.concatenate([given, size * (jnp.arange(given.shape[1]) == places[:, None])])
    rows_in, wanted = given[:, :features], given[:, features:]
    inverse = state.inverse / keep
    seen = rows_in @ inverse
    factor = jnp.linalg.cholesky(jnp.eye(len(given), dtype=seen.dtype) + seen @ rows_in.T)
    both = jnp.concatenate([seen, wanted - rows_in @ state.coef], axis=1)
    solved = jax.scipy.linalg.solve_triangular(factor, both, lower=True)
    half, surprise = solved[:, :features], solved[:, features:]
    inverse = inverse - half.T @ half
    turn = jnp.where(some, (state.turn + back) % features, state.turn)
    return RLSState(after, mean, target, state.coef + half.T @ surprise, (inverse + inverse.T) / 2, turn)


def returns(features: int, forgetting: float) -> int:
    """ceil(F (1 - forgetting)): number of features whose penalty is restored in one step.

    All features take at most 1 / (1 - forgetting) steps.
    """
    return math.ceil(features * (1 - forgetting))


def intercept_of(state: RLSState) -> Array:
    """b = mean_y - W mean_x."""
    return state.target - state.mean @ state.coef


@partial(jax.jit, static_argnames="back")
def _run(
    state: RLSState,
    x: Array,
    y: Array,
    counts: Array,
    n: Array,
    ridge: Array,
    forgetting: Array,
    back: int,
) -> RLSState:
    """The first n rows of a buffer, one after another."""

    def body(t: Array, now: RLSState) -> RLSState:
        return update(now, x[t][None], y[t][None], ridge=ridge, forgetting=forgetting, back=back, counts=counts[t][None])

    last: RLSState = jax.lax.fori_loop(0, n, body, state)
    return last


class RLS:
    """Recursive least squares: a ridge readout that is updated with every row, with forgetting.

        W = argmin of sum over rows s <= t of f^(t-s) |y(s) - W x(s) - b|^2 + ridge |W|^2

    `RLS(ridge, forgetting).partial_fit(X, y)` learns rows, and `predict(X)` uses the readout. Without forgetting, the readout
    equals `es.readouts.ridge` of the same rows. One step at a time, `x = esn.step(u, x); rls.partial_fit(x, y)`, this is FORCE
    learning. `OnlineLearner(readout=RLS(...))` uses the same settings.

    Parameters
    ----------
    ridge : float, default 1e-5
        Penalty on the summed squares, above 0. The penalty is not forgotten and does not act on the intercept.
    forgetting : float, default 1.0
        Forgetting factor f in (0, 1]: a row that is 1 / (1 - f) rows old has 1/e of the weight of the newest row. 1 forgets
        nothing.

    Attributes
    ----------
    readout : Readout
        Current weights W (O, F) and intercept b (O,).
    state : RLSState or None
        State of the recursion; None before the first row.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + 4
    >>> rls = es.learning.RLS(ridge=1e-6).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    >>> rls.readout.coef.round(3), rls.readout.intercept.round(3)
    (array([[ 1. , -2. ,  0.5]]), array([4.]))
    >>> rls.predict(X[:2]).shape
    (2, 1)
    """

    def __init__(self, ridge: float = 1e-5, forgetting: float = 1.0) -> None:
        self.ridge = checks.number(ridge, "ridge")
        if not self.ridge > 0:
            raise ValueError(f"ridge must be above 0, got {ridge}: recursive least squares starts from I / ridge.")
        self.forgetting = checks.number(forgetting, "forgetting")
        if not 0 < self.forgetting <= 1:
            raise ValueError(f"forgetting must lie in (0, 1], got {forgetting}. 1 forgets nothing; 0.999 remembers 1000 rows.")
        self.state: RLSState | None = None

    def partial_fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> RLS:
        """Learns rows, in their order.

        Parameters
        ----------
        X : (T, F), or one row (F,)
            Features, finite.
        y : (T,) or (T, O); for one row a number or (O,)
            Targets. Rows with a NaN target are skipped.

        Returns
        -------
        RLS
            The readout itself.
        """
        rows, targets = self._rows(X, y)
        with precision_and_device(np.float64, None), one_thread():
            state = self.state or init(rows.shape[1], targets.shape[1], self.ridge)
            for begin in range(0, len(rows), BUFFER):
                state = self._block(state, rows[begin : begin + BUFFER], targets[begin : begin + BUFFER])
            state = jax.tree.map(np.asarray, state)  # NumPy arrays, which do not depend on JAX's settings
        if not np.isfinite(state.coef).all():
            raise FloatingPointError(
                f"recursive least squares lost its accuracy: W is not finite any more. Raise the ridge (now {self.ridge:g}) or "
                f"forget less (now {self.forgetting:g}). The readout was left as it was before this call."
            )
        self.state = state
        return self

    def predict(self, X: npt.ArrayLike) -> Floats:
        """Returns y = W x + b with the current readout.

        Parameters
        ----------
        X : (T, F), or one row (F,)
            Features.

        Returns
        -------
        (T, O), or (O,)
            Outputs.
        """
        readout = self.readout
        rows = as_numbers(X, "X", np.float64)
        if rows.ndim not in (1, 2) or rows.shape[-1] != readout.coef.shape[1]:
            raise ValueError(f"X must be (T, {readout.coef.shape[1]}) or one row of it, got shape {rows.shape}.")
        return readout.predict(rows) if rows.ndim == 2 else readout.predict(rows[None])[0]

    @property
    def readout(self) -> Readout:
        """Current weights W (O, F), intercept b (O,) and penalty."""
        if self.state is None:
            raise ValueError("this RLS has not seen any data: call partial_fit first.")
        return Readout(np.asarray(self.state.coef).T, np.asarray(intercept_of(self.state)), np.asarray(self.ridge))

    def _rows(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
        rows, targets = as_numbers(X, "X", np.float64), as_numbers(y, "y", np.float64)
        if rows.ndim == 1:
            rows, targets = rows[None], targets.reshape(1, -1)
        if rows.ndim != 2 or not rows.size:
            raise ValueError(f"X must be (T, F) or one row (F,), and not empty; got shape {rows.shape}.")
        if targets.ndim == 1:
            targets = targets[:, None]
        if targets.ndim != 2 or len(targets) != len(rows) or not targets.shape[1]:
            raise ValueError(f"y must hold one target for each of the {len(rows)} rows of X, got shape {np.shape(y)}.")
        if not np.isfinite(rows).all():
            raise ValueError(f"X must be finite, found NaN or infinity in row {int(np.argwhere(~np.isfinite(rows))[0, 0])}.")
        if np.isinf(targets).any():
            raise ValueError(f"y must be finite or NaN, found infinity in row {int(np.argwhere(np.isinf(targets))[0, 0])}.")
        if self.state is not None and (known := self.state.coef.shape) != (rows.shape[1], targets.shape[1]):
            raise ValueError(
                f"this RLS has learned {known[0]} features and {known[1]} outputs, this call has {rows.shape[1]} and "
                f"{targets.shape[1]}; make another one for other data."
            )
        return rows, targets

    def _block(self, state: RLSState, rows: Floats, targets: Floats) -> RLSState:
        counts = np.asarray(np.isfinite(targets).all(axis=1))
        size = BUFFER if len(rows) > 1 else 1  # a single row is common, and needs no buffer
        padded = [np.zeros((size, *each.shape[1:]), each.dtype) for each in (rows, targets, counts)]
        for place, each in zip(padded, (rows, np.where(counts[:, None], targets, 0.0), counts), strict=True):
            place[: len(rows)] = each
        numbers = (np.int32(len(rows)), np.float64(self.ridge), np.float64(self.forgetting))
        back = returns(rows.shape[1], self.forgetting)
        new: RLSState = _run(state, *padded, *numbers, back=back)
        return new

    def __repr__(self) -> str:
        return f"RLS(ridge={self.ridge:g}, forgetting={self.forgetting:g})"
