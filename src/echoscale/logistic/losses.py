"""What the outputs z of a readout of classes mean, and how far they are from the label.

"sigmoid"  E = sum over classes of log(1 + e^z) - y z,  y one-hot: every class by itself a probability   (paper, "psMNIST")
"softmax"  E = log(sum over classes of e^z) - z[label]: one class of several
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

LOSSES = ("sigmoid", "softmax")


def values(loss: str, z: jax.Array, labels: jax.Array) -> jax.Array:
    """E of every row, (rows,), from outputs z (rows, O) and labels (rows,)."""
    right = jnp.take_along_axis(z, labels[:, None], axis=1)[:, 0]
    if loss == "sigmoid":
        return jnp.sum(jax.nn.softplus(z), axis=1) - right
    return jax.nn.logsumexp(z, axis=1) - right


def constant(loss: str, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The outputs z (O,) that suit all rows best when nothing is known of them but how many each class has.

    Half a row is added to each, so that a class without rows is unlikely, not impossible.
    """
    share = (counts + 0.5) / (counts + 0.5).sum()
    return np.asarray(np.log(share) - np.log1p(-share) if loss == "sigmoid" else np.log(share))


def probabilities(loss: str, z: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Probabilities that add up to 1 over the classes, the last axis of z.

    softmax  e^z / sum
    sigmoid  p / sum of p, with p = 1 / (1 + e^-z): the classes judge one by one, so their p need not add up; the order stays
    """
    logs = np.asarray(z, np.float64)
    if loss == "sigmoid":
        logs = -np.logaddexp(0, -logs)  # in logarithms, so that outputs far below 0 keep their proportions
    shifted = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))
