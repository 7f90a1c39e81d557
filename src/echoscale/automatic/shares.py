"""Shares of members in a mean, from their errors on data that took no part in fitting them.

    u = argmin u^T (G + diag G) u,   u >= 0,   sum u = 1,   G = mean of e e^T

G knows whose errors cancel. Variances count twice, since the best of many looks better than it is (Bates and Granger 1969).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def of_errors(errors: Floats) -> Floats:
    """u, (K,); equal shares where nothing can be said.

    Parameters
    ----------
    errors : (K, n)
        e of every member.
    """
    from scipy.optimize import nnls

    count = len(errors)
    if errors.shape[1] < 2:
        return np.full(count, 1 / count)
    gram = errors @ errors.T / errors.shape[1]
    gram = gram + np.diag(np.diag(gram)) + 1e-9 * np.trace(gram) / count * np.eye(count)
    if not np.trace(gram) > 0:
        return np.full(count, 1 / count)
    root = np.linalg.cholesky(gram / np.trace(gram)).T
    # The sum of the shares is one equation more, of great weight.
    heavy = 1e3
    found, _ = nnls(np.vstack([root, np.full(count, heavy)]), np.append(np.zeros(count), heavy))
    return np.asarray(found / found.sum())
