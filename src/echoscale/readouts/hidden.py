"""A readout of classes with one hidden layer, trained by minibatches.

    z = V relu(W f + b) + c,      E = mean over the minibatch of the softmax cross-entropy + ridge/2 (|W|^2 + |V|^2)

Adam, with a rate that falls to 0 as a cosine. f are standardised features. A share of them and of the hidden layer (`dropout`)
is left out at random in every step. The network that gives f stays as it is: nothing is propagated back through time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from echoscale import _checks
from echoscale.engine.machine import device_of, precision_and_device, to_device
from echoscale.readouts.logistic import schedule
from echoscale.readouts.logistic.checks import check_labels, check_rate

if TYPE_CHECKING:
    from echoscale.engine.machine import DeviceLike

Floats = npt.NDArray[np.float64]
Layers = dict[str, jax.Array]

LEAST_SPREAD = 1e-3  # of the largest
ADAM = optax.scale_by_adam()


class Hidden(NamedTuple):
    """z = V relu(W f + b) + c, for features as they are.

    Attributes
    ----------
    coef : (H, F)
        W.
    intercept : (H,)
        b.
    outer : (O, H)
        V.
    offset : (O,)
        c.
    """

    coef: Floats
    intercept: Floats
    outer: Floats
    offset: Floats

    def predict(self, features: npt.ArrayLike) -> Floats:
        """z of every row.

        Parameters
        ----------
        features : (R, F)
            Rows.
        """
        inner = np.maximum(np.asarray(features, np.float64) @ self.coef.T + self.intercept, 0)
        return np.asarray(inner @ self.outer.T + self.offset)


def fit(
    features: npt.ArrayLike,
    labels: npt.ArrayLike,
    classes: int,
    *,
    hidden: int = 256,
    dropout: float = 0.2,
    rate: float = 1e-3,
    epochs: int = 30,
    minibatch: int = 50,
    ridge: float = 0.0,
    seed: int = 0,
    dtype: str = "float32",
    device: DeviceLike = None,
) -> Hidden:
    """Minimise E, one compiled scan an epoch. W and V begin with normal weights, b and c at 0.

    Parameters
    ----------
    features : (R, F)
        f of every row.
    labels : (R,)
        Whole numbers from 0 to classes - 1.
    classes : int
        O, at least 2.
    hidden : int
        H, units of the hidden layer.
    dropout : float
        Share of features and of the hidden layer that is left out in every step, in [0, 1).
    rate : float
        First step of Adam.
    epochs : int
        How often rows are seen.
    minibatch : int
        Rows of a step; those that do not fill the last one wait for the next epoch.
    ridge : float
        The penalty on |W|^2 / 2 and |V|^2 / 2 beside the mean loss, on standardised features.
    seed : int
        Of the weights, the order of the rows and what is left out.
    dtype : "float32" or "float64"
        In which it is trained.
    device : None, "cpu", "gpu" or a jax.Device
        Where; None: JAX's choice.

    Returns
    -------
    Hidden
        The trained layers.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.readouts import hidden
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (x[:, 0] * x[:, 1] > 0).astype(int)  # no line tells them apart
    >>> found = hidden.fit(x, labels, classes=2, hidden=32, dropout=0.0, rate=0.01, epochs=60)
    >>> bool((found.predict(x).argmax(axis=1) == labels).mean() > 0.9)
    True
    """
    x = np.asarray(features)
    right = check_labels(labels, len(x), _checks.integer(classes, "classes", minimum=2))
    width = _checks.integer(hidden, "hidden", minimum=1)
    left_out = _checks.number(dropout, "dropout")
    if not 0 <= left_out < 1:
        raise ValueError(f"dropout must be in [0, 1), got {left_out:g}.")
    count, first = _checks.integer(epochs, "epochs", minimum=1), check_rate(rate)
    penalty = _checks.non_negative(ridge, "ridge", "0 is none.")
    size = min(_checks.integer(minibatch, "minibatch", minimum=1), len(x))
    mean, spread = x.mean(axis=0, dtype=np.float64), x.std(axis=0, dtype=np.float64)
    spread = np.maximum(spread, LEAST_SPREAD * spread.max()) if spread.max() > 0 else np.ones_like(spread)
    with precision_and_device(dtype, device_of(device)):
        rows, wanted = to_device((x - mean) / spread, dtype), to_device(right, np.asarray(right).dtype)
        layers, chance = _begin(rows.shape[1], width, classes, _checks.integer(seed, "seed"), dtype)
        steps = len(x) // size
        falling = schedule.rates("cosine", first, 0, count * steps, count * steps)
        state, rng = ADAM.init(layers), np.random.default_rng(seed)
        for rates in np.asarray(falling, dtype).reshape(count, steps):
            table = rng.permutation(len(x))[: steps * size].reshape(steps, size)
            layers, state, chance = _epoch(layers, state, chance, rows, wanted, (table, rates), penalty, left_out)
        made = {name: np.asarray(each, np.float64) for name, each in layers.items()}
    if not all(np.isfinite(each).all() for each in made.values()):
        raise ValueError(f"training went astray: weights are not finite. A smaller rate than {first:g} may help.")
    coef = made["W"].T / spread
    return Hidden(coef, made["b"] - coef @ mean, made["V"].T, made["c"])


def _begin(features: int, hidden: int, classes: int, seed: int, dtype: str) -> tuple[Layers, jax.Array]:
    first, second, chance = jax.random.split(jax.random.key(seed), 3)
    layers = {
        "W": jax.random.normal(first, (features, hidden), dtype) * (2 / features) ** 0.5,
        "b": to_device(np.zeros(hidden), dtype),
        "V": jax.random.normal(second, (hidden, classes), dtype) * hidden**-0.5,
        "c": to_device(np.zeros(classes), dtype),
    }
    return layers, chance


def outputs(layers: Layers, rows: jax.Array, chance: jax.Array | None = None, dropout: float = 0.0) -> jax.Array:
    """z (R, O) of standardised rows; with `chance`, of thinned ones.

    Parameters
    ----------
    layers : dict of W, b, V, c
        The weights.
    rows : (R, F)
        Standardised features.
    chance : key, optional
        What is left out; nothing unless given.
    dropout : float
        The share that is left out.
    """
    keys = (None, None) if chance is None else jax.random.split(chance)
    inner = jax.nn.relu(_thinned(rows, keys[0], dropout) @ layers["W"] + layers["b"])
    z: jax.Array = _thinned(inner, keys[1], dropout) @ layers["V"] + layers["c"]
    return z


def _thinned(x: jax.Array, chance: jax.Array | None, dropout: float) -> jax.Array:
    if chance is None or dropout == 0:
        return x
    kept = jax.random.bernoulli(chance, 1 - dropout, x.shape)
    return jnp.where(kept, x / (1 - dropout), 0)


@partial(jax.jit, static_argnames="dropout", donate_argnames=("layers", "state"))
def _epoch(
    layers: Layers,
    state: optax.OptState,
    chance: jax.Array,
    rows: jax.Array,
    labels: jax.Array,
    given: tuple[jax.Array, jax.Array],
    ridge: float,
    dropout: float,
) -> tuple[Layers, optax.OptState, jax.Array]:
    def loss(layers: Layers, some: jax.Array, right: jax.Array, chance: jax.Array) -> jax.Array:
        z = outputs(layers, some, chance, dropout)
        squares = jnp.sum(layers["W"] ** 2) + jnp.sum(layers["V"] ** 2)
        total: jax.Array = optax.softmax_cross_entropy_with_integer_labels(z, right).mean() + ridge / 2 * squares
        return total

    def step(now: Any, minibatch: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        (layers, state, chance), (which, rate) = now, minibatch
        chance, new = jax.random.split(chance)
        slopes = jax.grad(loss)(layers, rows[which], labels[which], new)
        moves, state = ADAM.update(slopes, state)
        return (jax.tree.map(lambda weight, move: weight - rate * move, layers, moves), state, chance), None

    made: tuple[Layers, optax.OptState, jax.Array] = jax.lax.scan(step, (layers, state, chance), given)[0]
    return made
