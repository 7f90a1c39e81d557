"""Eigenvalues of square matrices, computed for the strongly connected parts of their graphs: dense if small, sparse if large.

The eigenvalues of a matrix are the eigenvalues of its strongly connected parts. Computing them part by part is faster, and it
avoids wrong results: in long chains without a cycle, solvers return large eigenvalues that do not exist.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

from echoscale._internal.types import Complex, Floats
from echoscale.engine.devices import one_thread

Sparse: TypeAlias = scipy.sparse.csr_array
Square: TypeAlias = Sparse | npt.NDArray[Any]  # (n, n), dense or sparse
Which = Literal["LM", "LR", "SR", "LI"]

# For the spectral radius alone: below this size LAPACK is faster than ARPACK.
DENSE_RADIUS_UP_TO = 100
# If ARPACK's first search fails: up to this size LAPACK is faster than a second search, which often fails too.
DENSE_AFTER_ONE_SEARCH_UP_TO = 1500
# For all eigenvalues: beyond this size only the outermost are computed.
DENSE_SPECTRUM_UP_TO = 2000
OUTERMOST = 24
# If the search for the outermost fails, all are computed, up to this size (about a minute).
DENSE_AT_MOST = 5000


def spectral_radius(matrix: Square) -> float:
    """max |eigenvalue|, by LAPACK for small matrices, otherwise by ARPACK, and by LAPACK if ARPACK does not converge.

    For large multiples of orthogonal matrices it follows from a few products.
    """
    alone, parts = connected_parts(matrix)
    return max([float(np.abs(alone).max(initial=0.0)), *map(_radius, parts)])


def eigenvalues(matrix: Square) -> tuple[Complex, bool]:
    """Eigenvalues, the largest real part first, and whether all were computed: (n,) and True.

    For a connected part with more than DENSE_SPECTRUM_UP_TO units, only the outermost eigenvalues are computed: those with the
    largest and the smallest real part, the largest imaginary part and the largest modulus.
    """
    alone, parts = connected_parts(matrix)
    with one_thread():
        found = [_all_or_outermost(part) for part in parts]
    values = np.concatenate([alone, *(some for some, _ in found)]).astype(np.complex128)
    return values[np.lexsort((values.imag, -values.real))], all(complete for _, complete in found)


def connected_parts(matrix: Square) -> tuple[Floats, list[Sparse]]:
    """The strongly connected parts of more than one unit, and the diagonal entries of the units in no cycle but their own."""
    csr: Sparse = Sparse(cast(Any, matrix), dtype=np.float64, copy=True)
    csr.eliminate_zeros()  # zeros are no links
    count, part = scipy.sparse.csgraph.connected_components(csr, connection="strong")
    if count == 1 and csr.shape[0] > 1:
        return np.empty(0), [csr]
    sizes = np.bincount(part, minlength=count)
    alone = csr.diagonal()[sizes[part] == 1]
    parts = [np.flatnonzero(part == each) for each in np.flatnonzero(sizes > 1)]
    return alone, [csr[members][:, members] for members in parts]


def _radius(csr: Sparse) -> float:
    size = csr.shape[0]
    with one_thread():
        if size > DENSE_RADIUS_UP_TO:
            orthogonal = _of_orthogonal(csr)
            if orthogonal is not None:
                return orthogonal
            start = np.ones(size) / np.sqrt(size)  # fixed: ARPACK's own start vector is random
            for krylov in (80,) if size <= DENSE_AFTER_ONE_SEARCH_UP_TO else (80, 240):
                try:
                    few = _arnoldi(csr, 6, min(krylov, size - 1), "LM", start)
                    return float(np.abs(few).max())
                except scipy.sparse.linalg.ArpackError:
                    continue
        return float(np.abs(np.linalg.eigvals(csr.toarray())).max())


def _of_orthogonal(csr: Sparse) -> float | None:
    """sqrt(c) if W^T W = c I, the modulus of all eigenvalues of an orthogonal matrix times sqrt(c); otherwise None.

    An iteration cannot find the largest eigenvalue if all are equally large. W^T W x = c x is tested on a few random x, (n, 8),
    which takes a few products even for a full matrix. With E = W^T W / c - I, |E x| is about |E| (Frobenius) for each x, so the
    root is off by at most about 1e-12 sqrt(n) / 2, less than the ten digits that are kept of a radius.
    """
    size = csr.shape[0]
    square = float(csr.data @ csr.data) / size
    tried = np.random.default_rng(0).standard_normal((size, 8))
    apart = csr.T @ (csr @ tried) - square * tried
    # Strictly: the squares of tiny weights are 0 on both sides.
    return float(np.sqrt(square)) if np.linalg.norm(apart) < 1e-12 * square * np.linalg.norm(tried) else None


def _arnoldi(csr: Sparse, count: int, krylov: int, which: Which, start: Floats) -> Complex:
    found = scipy.sparse.linalg.eigs(
        csr, k=count, ncv=krylov, which=which, v0=start, maxiter=100, tol=1e-13, return_eigenvectors=False
    )
    return np.asarray(found, np.complex128)


def _all_or_outermost(csr: Sparse) -> tuple[Complex, bool]:
    """The eigenvalues of a connected part, and whether they are all."""
    if csr.shape[0] > DENSE_SPECTRUM_UP_TO:
        cycle = _of_cycle(csr)
        if cycle is not None:
            return cycle, True
        try:
            return _outermost(csr), False
        except scipy.sparse.linalg.ArpackError as error:
            if csr.shape[0] > DENSE_AT_MOST:
                raise RuntimeError(
                    f"the outermost eigenvalues of a connected part of {csr.shape[0]} units did not converge, and it is too "
                    f"large for a dense solver (at most {DENSE_AT_MOST})."
                ) from error
    return np.linalg.eigvals(csr.toarray()).astype(np.complex128), True


def _of_cycle(csr: Sparse) -> Complex | None:
    """d + (w_1 ... w_n)^(1/n), all n roots: of a single cycle with weights w and the same d on the diagonal; None of others.

    The eigenvalues of a ring lie so close together on their circle that no iteration tells them apart.
    """
    diagonal = csr.diagonal()
    links = Sparse(csr - scipy.sparse.diags_array(diagonal))
    links.eliminate_zeros()
    if (np.diff(links.indptr) != 1).any() or (diagonal != diagonal[0]).any():
        return None
    size = csr.shape[0]
    radius = np.exp(np.log(np.abs(links.data)).mean())
    turns = np.arange(size) + (0.5 if (links.data < 0).sum() % 2 else 0.0)
    return np.asarray(diagonal[0] + radius * np.exp(2j * np.pi * turns / size), np.complex128)


def _outermost(csr: Sparse) -> Complex:
    """The eigenvalues at the rim: of largest modulus, largest and smallest real part, largest imaginary part."""
    start = np.random.default_rng(0).standard_normal(csr.shape[0])  # fixed, and orthogonal to no eigenvector
    values = np.concatenate([_arnoldi(csr, OUTERMOST, 240, which, start) for which in get_args(Which)])
    # Several searches find the same eigenvalue with other last digits, or one of a conjugate pair at the edge of a search.
    values = np.concatenate([values, values.conj()])
    _, first = np.unique(np.round(values, 9), return_index=True)
    return np.asarray(values[first])
