"""The linear regime: a network with its tanh replaced by its slope, x(t+1) = M x(t) + B s(t).

    M = (I - A) O + A D W,   B = A D W_in,   A = diag(leak rates),   D = diag(f'(h)), the identity at the origin without bias

O is the identity unless a reservoir has a residual matrix (paper: "Hierarchical Echo-State Networks" and the appendix
"Timescales, oscillations and eigenvalues"; the printed e^{Lambda t} belongs to continuous time, a discrete map relaxes with
lambda^t).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.linalg

from echoscale._internal import checks
from echoscale._internal.types import Complex, Floats

Sparse = scipy.sparse.csr_array


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """A network in its linear regime, x(t+1) = M x(t) + B s(t). `esn.linearised()` returns it.

        M = (I - A) O + A D W,   B = A D W_in,   A = diag(leak rates),   D = diag(f'(h))

    D is the identity at the origin without bias. O is the identity unless a reservoir has a `residual`.

    Attributes
    ----------
    M : (N, N) csr_array
        Matrix that multiplies the state x (N,).
    B : (N, F) array
        Matrix that multiplies the input s (F,).
    slices : tuple of slice
        Positions of each reservoir's neurons in the state.
    direct : (M, B)
        M and B without the couplings that act within a step (coupling_delay=0): each diagonal block is one reservoir.

    Examples
    --------
    >>> import echoscale as es
    >>> system = es.single(20, leak_rate=0.5).build(1).linearised()
    >>> system.M.shape, system.B.shape
    ((20, 20), (20, 1))
    >>> system.delay_kernel(3).shape
    (4, 20, 1)
    """

    M: Sparse
    B: Floats
    slices: tuple[slice, ...]
    direct: tuple[Sparse, Floats]

    def part(self, reservoir: int) -> LinearSystem:
        """Return the linear system of one reservoir without the others.

        Parameters
        ----------
        reservoir : int
            Index of the reservoir, from 0.
        """
        if isinstance(reservoir, bool) or reservoir not in range(len(self.slices)):
            known = ", ".join(map(str, range(len(self.slices))))
            raise ValueError(f"reservoir must be one of {known}; got {reservoir!r}.")
        own = self.slices[int(reservoir)]
        M, B = Sparse(self.direct[0][own, own]), self.direct[1][own]
        return LinearSystem(M, B, (slice(0, len(B)),), (M, B))

    def modes(self) -> tuple[Complex, Complex, Complex]:
        """Eigenvalues lambda (N,), left eigenvectors V (N, N) as rows and right eigenvectors V^-1 as columns.

        V M = diag(lambda) V
        """
        values, right = np.linalg.eig(self.M.toarray())
        if np.linalg.cond(right) > 1e12:
            raise ValueError(
                "M has no basis of eigenvectors, or a nearly singular one, as for a delay line or equal reservoirs in a chain: "
                "its modes do not relax independently. Use `relaxation`, which needs no basis."
            )
        return values.astype(np.complex128), np.linalg.inv(right).astype(np.complex128), right.astype(np.complex128)

    def relaxation(self, state: npt.ArrayLike, steps: int) -> Floats:
        """States without input, (steps + 1, N): x(t) = M^t x(0) = V^-1 diag(lambda^t) V x(0) for t = 0 ... steps.

        Parameters
        ----------
        state : (N,)
            First state x(0).
        steps : int
            Number of steps.
        """
        path = [_state(state, len(self.B))]
        for _ in range(checks.integer(steps, "steps")):
            path.append(self.M @ path[-1])
        return np.stack(path)

    def delay_kernel(self, delays: int) -> Floats:
        """Response to past inputs, (delays + 1, N, F): K_j = M^j B, with x(t+1) = sum_j K_j s(t-j) exactly.

        Parameters
        ----------
        delays : int
            Largest delay j.
        """
        kernel = [self.B]
        for _ in range(checks.integer(delays, "delays")):
            kernel.append(self.M @ kernel[-1])
        return np.stack(kernel)

    def difference_kernel(self, order: int) -> Floats:
        """Response to differences of the input, (order + 1, N, F): x(t+1) = sum_n C_n nabla^n s(t).

            C_n = (-(I - M)^-1 M)^n (I - M)^-1 B,   nabla s(t) = s(t) - s(t-1)

        This is the discrete form of the paper's expansion in derivatives, from s(t-j) = (1 - nabla)^j s(t). The first terms
        suffice if the input changes slowly compared with the timescales of M.

        Parameters
        ----------
        order : int
            Largest order n.
        """
        try:
            inverse = scipy.sparse.linalg.splu(scipy.sparse.csc_array(scipy.sparse.eye_array(len(self.B)) - self.M))
        except RuntimeError as error:
            raise ValueError("M has the eigenvalue 1: a constant input has no steady state to expand around.") from error
        kernel = [inverse.solve(self.B)]
        for _ in range(checks.integer(order, "order")):
            kernel.append(-inverse.solve(self.M @ kernel[-1]))
        return np.stack(kernel)


def linearise(
    W: Sparse,
    W_in: Floats,
    bias: Floats,
    leak_rate: Floats,
    slices: tuple[slice, ...],
    coupling_delay: int,
    state: npt.ArrayLike | None = None,
    residual: Sparse | None = None,
    linear: npt.NDArray[np.bool_] | None = None,
) -> LinearSystem:
    """The linear map around a state (the origin unless given) at zero input.

    With coupling_delay=0 a reservoir receives the new states of the reservoirs before it: (I - A D W_new) x' = ((I - A) O + A D
    W_old) x.
    """
    size = len(leak_rate)
    x = np.zeros(size) if state is None else _state(state, size)
    level = np.repeat(np.arange(len(slices)), [each.stop - each.start for each in slices])
    entries = scipy.sparse.coo_array(W)
    fresh = (level[entries.col] < level[entries.row]) & (coupling_delay == 0)
    old, new = (
        Sparse((np.where(which, entries.data, 0.0), (entries.row, entries.col)), shape=(size, size))
        for which in (~fresh, fresh)
    )
    stay = scipy.sparse.eye_array(size) if residual is None else residual
    kept = Sparse(scipy.sparse.diags_array(1 - leak_rate) @ stay)
    slopes = _slopes(old, new, np.asarray(bias), leak_rate, slices, x, np.asarray(kept @ x), linear)
    gain = scipy.sparse.diags_array(leak_rate * slopes)
    M = own = Sparse(kept + gain @ old)
    B = drive = gain @ np.asarray(W_in)
    if fresh.any():
        # A reservoir receives only the ones before it, so the series of the inverse has as many terms as there are levels.
        for _ in slices[1:]:
            M, B = own + gain @ new @ M, drive + gain @ new @ B
    return LinearSystem(Sparse(M), B, slices, (own, drive))


def mode_relaxation(values: Complex, start: Complex, steps: int) -> Complex:
    """Relaxation of every mode of a linear system: y_i(t) = lambda_i^t y_i(0).

    Parameters
    ----------
    values : (modes,) complex array
        Eigenvalues lambda of the modes, from `LinearSystem.modes`.
    start : (modes,) complex array
        Values y(0) of the modes.
    steps : int
        Number of steps after the start.

    Returns
    -------
    (steps + 1, modes) complex array
        y(t) for t = 0 ... steps.

    Examples
    --------
    >>> import numpy as np
    >>> from echoscale.timescales import mode_relaxation
    >>> mode_relaxation(np.array([0.5, -1.0]), np.array([8.0, 1.0]), steps=2).real
    array([[ 8.,  1.],
           [ 4., -1.],
           [ 2.,  1.]])
    """
    times = np.arange(checks.integer(steps, "steps") + 1)
    return np.asarray(values[None, :] ** times[:, None] * start, np.complex128)


def _state(value: npt.ArrayLike, size: int) -> Floats:
    x = np.asarray(value, np.float64)
    if x.shape != (size,):
        raise ValueError(f"state must have shape ({size},), got {x.shape}.")
    if not np.isfinite(x).all():
        raise ValueError("state must be finite; it holds NaN or infinity.")
    return x


def _slopes(
    old: Sparse,
    new: Sparse,
    bias: Floats,
    leak_rate: Floats,
    slices: tuple[slice, ...],
    x: Floats,
    kept: Floats,
    linear: npt.NDArray[np.bool_] | None,
) -> Floats:
    """f'(h) = 1 - tanh(h)^2 of every neuron, 1 if it is linear; reservoirs move in order, `kept` is the kept part of x."""
    after = x.copy()
    h = old @ x + bias
    for own in slices:
        h[own] += (new @ after)[own]
        fired = np.tanh(h) if linear is None else np.where(linear, h, np.tanh(h))
        after[own] = kept[own] + leak_rate[own] * fired[own]
    slopes = np.asarray(1 - np.tanh(h) ** 2)
    return slopes if linear is None else np.where(linear, 1.0, slopes)
