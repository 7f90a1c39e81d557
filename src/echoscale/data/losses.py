"""Losses: the meaning of the outputs z of a readout, and their distance from the target.

    E = sum over rows of c E_b,    dE_b/dz = link(z_b) - y_b      for all three (c: one over the number of counted rows)

"mse"      link(z) = z,           E_b = 1/2 sum over outputs of (z - y)^2      (paper, Eq. (MSE_online))
"sigmoid"  link(z) = 1/(1+e^-z),  E_b = sum over outputs of log(1 + e^z) - y z: every output is a separate probability
"softmax"  link(z) = e^z / sum,   E_b = log(sum of e^z) - sum of y z: one class of several
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from echoscale._internal import checks

LOSSES = ("mse", "sigmoid", "softmax")
OF_CLASSES = LOSSES[1:]


def slope_and_value(loss: str, z: Array, y: Array) -> tuple[Array, Array]:
    """dE_b/dz = link(z_b) - y_b, and E_b."""
    if loss == "mse":
        apart = z - y
        return apart, jnp.sum(apart * apart, axis=0) / 2
    if loss == "sigmoid":
        return jax.nn.sigmoid(z) - y, jnp.sum(jax.nn.softplus(z) - y * z, axis=0)
    return jax.nn.softmax(z, axis=0) - y, jax.nn.logsumexp(z, axis=0) - jnp.sum(y * z, axis=0)


def link(loss: str, z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """link(z): the outputs themselves, or probabilities."""
    if loss == "mse":
        return z
    if loss == "sigmoid":
        return np.asarray(np.exp(-np.logaddexp(0, -z)))
    return _softmax(z)


def of_labels(loss: str, z: jax.Array, labels: jax.Array) -> jax.Array:
    """E_b of every row, for the one-hot target of its label."""
    right = jnp.take_along_axis(z, labels[:, None], axis=1)[:, 0]
    if loss == "sigmoid":
        return jnp.sum(jax.nn.softplus(z), axis=1) - right
    return jax.nn.logsumexp(z, axis=1) - right


def constant(loss: str, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """argmin over z of E, one z for all rows: log(share), or its logit for "sigmoid".

    Half a row is added to each class, so that a class without rows is unlikely, not impossible.
    """
    share = (counts + 0.5) / (counts + 0.5).sum()
    return np.asarray(np.log(share) - np.log1p(-share) if loss == "sigmoid" else np.log(share))


def probabilities(loss: str, z: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Returns probabilities of the classes, which add up to 1 over the last axis of z.

    softmax  e^z / sum
    sigmoid  p / sum of p, with p = 1 / (1 + e^-z): separate p need not add up to 1; the order of the classes is kept

    Parameters
    ----------
    loss : "sigmoid" or "softmax"
        Loss function of the readout.
    z : (..., O)
        Outputs of the readout.

    Returns
    -------
    (..., O) array
        Probabilities.

    Examples
    --------
    >>> from echoscale.data.losses import probabilities
    >>> probabilities("softmax", [0.0, 0.0]), probabilities("sigmoid", [[0.0, 0.0, 0.0, 0.0]])
    (array([0.5, 0.5]), array([[0.25, 0.25, 0.25, 0.25]]))
    """
    logs = checks.finite(np.asarray(z, np.float64), "outputs")
    if loss == "sigmoid":
        logs = -np.logaddexp(0, -logs)  # in logarithms, so that outputs far below 0 keep their proportions
    return _softmax(logs)


def _softmax(z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    shifted = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))
