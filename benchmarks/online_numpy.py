"""The online rule of two reservoirs in plain NumPy, written by hand for speed: what `OnlineLearner` is timed against.

    x <- (1 - a) x + a f,                     f = tanh(W x + W_in u)                       W = [[r1 W1, 0], [c C, r2 W2]]
    e_i <- (1 - a) e_i + a (1 - f^2) (W e_i) + [unit belongs to i] (f - x)                 e_i = dx/da_i, exact traces
    d = (W_out x - y) / B,    dE/dW_out = d x^T,    dE/da_i = sum of d (W_out e_i)          E = |W_out x - y|^2 / (2 B)

and Adam on W_out and on the leak rates a_1, a_2, which are put back into [0.001, 1]. All B sequences are rows of one array, and
so are their traces: S (3, B, F) holds x, e_1 and e_2, so that W and W_out are one product each. The last of the F features is
the 1 of the intercept: a unit with leak rate 0. What is learned stands in one flat vector, with W_out a view of it. Arrays are
written in place; where the inputs go is worked out for many steps at once. It imports nothing of the library's learners.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

Array = npt.NDArray[Any]

# Steps whose inputs are multiplied with W_in at once.
CHUNK = 1000
LEAST_LEAK = 0.001


class NumpyLearner:
    """One start. `parts` are W1, W2 (n, n), C (n2, n1), W_in of the first (n1, 1), each with its factor, as `parts_of` gives.

    W_out   (O, F)  where the readout begins, intercept last
    leaks   (2,)    where the leak rates begin; they rest, and no traces are kept, without `learn_leaks`
    sparse  whether W is a scipy CSR matrix, applied to the transposed states
    """

    def __init__(
        self,
        parts: tuple[Array, Array, Array, Array],
        W_out: Array,
        leaks: tuple[float, float],
        sequences: int,
        dtype: Any = np.float32,
        *,
        rate: float = 1e-3,
        leak_rate: float = 5e-6,
        beta1: tuple[float, float] = (0.9, 0.99),
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        learn_leaks: bool = True,
        sparse: bool = False,
    ) -> None:
        W1, W2, C, W_in = parts
        self.first, self.units = len(W1), len(W1) + len(W2)
        features, outputs = self.units + 1, len(W_out)
        self.dtype, self.sequences, self.learn_leaks, self.sparse = np.dtype(dtype), sequences, learn_leaks, sparse
        W = np.zeros((features, features), dtype)  # post, pre; nothing for the intercept
        W[: self.first, : self.first], W[self.first : -1, self.first : -1], W[self.first : -1, : self.first] = W1, W2, C
        self.W_T: Any = scipy.sparse.csr_array(W) if sparse else np.ascontiguousarray(W.T)
        self.W_in = np.zeros(features, dtype)
        self.W_in[: self.first] = W_in[:, 0]

        rows = W_out.size
        self.theta = np.concatenate([W_out.ravel(), leaks]).astype(dtype)
        self.W_out, self.leaks = self.theta[:rows].reshape(outputs, features), self.theta[rows:]
        moving = rows + 2 * learn_leaks
        self.moving = self.theta[:moving]
        self.rate = np.repeat([rate, leak_rate], [rows, moving - rows]).astype(dtype)
        self.beta1 = np.repeat(beta1, [rows, moving - rows]).astype(dtype)
        self.rest1 = (1 - np.repeat(beta1, [rows, moving - rows])).astype(dtype)
        self.both1, self.beta2, self.epsilon, self.rows = beta1, beta2, epsilon, rows
        self.gradient, self.mean, self.square, self.work = (np.zeros(moving, dtype) for _ in range(4))
        self.correction = np.empty(moving, dtype)
        self.W_out_gradient, self.leak_gradient = self.gradient[:rows].reshape(outputs, features), self.gradient[rows:]

        self.S = np.zeros((1 + 2 * learn_leaks, sequences, features), dtype)
        self.S[0, :, -1] = 1
        self.H, self.Z = np.empty_like(self.S), np.empty((len(self.S), sequences, outputs), dtype)
        self.f, self.apart, self.pull = (np.empty_like(self.S[0]) for _ in range(3))
        self.a, self.keep = np.zeros(features, dtype), np.ones(features, dtype)
        self.spread_leaks()
        self.steps = 0

    def partial_fit(self, u: Array, y: Array) -> float:
        """The next steps, u (B, T, 1) and y (B, T, O); returns the mean loss."""
        total, length = 0.0, u.shape[1]
        inputs = np.ascontiguousarray(u[..., 0].T, self.dtype)
        targets = np.ascontiguousarray(np.swapaxes(y, 0, 1), self.dtype)
        for begin in range(0, length, CHUNK):
            driven = inputs[begin : begin + CHUNK, :, None] * self.W_in
            for drive, target in zip(driven, targets[begin : begin + CHUNK], strict=True):
                self.move_states(drive)
                total += self.slopes(target)
                self.adam()
        return float(total / length)

    def move_states(self, drive: Array) -> None:
        """States and traces, given W_in u (B, F)."""
        S, H, f, apart, first = self.S, self.H, self.f, self.apart, self.first
        flat = S.reshape(-1, S.shape[2])
        if self.sparse:
            H = (self.W_T @ flat.T).T.reshape(S.shape)
        else:
            np.matmul(flat, self.W_T, out=H.reshape(flat.shape))
        np.add(H[0], drive, out=f)
        np.tanh(f, out=f)
        np.subtract(f, S[0], out=apart)
        if self.learn_leaks:
            traces, heard = S[1:], H[1:]
            np.multiply(f, f, out=f)
            np.subtract(1, f, out=f)
            f *= self.a
            heard *= f
            traces *= self.keep
            traces += heard
            traces[0, :, :first] += apart[:, :first]
            traces[1, :, first:] += apart[:, first:]
            traces[1, :, -1] = 0  # the intercept's belongs to neither
        apart *= self.a
        S[0] += apart

    def slopes(self, target: Array) -> float:
        """Gradients of W_out and of the leak rates; returns the loss."""
        S, Z = self.S, self.Z
        np.matmul(S.reshape(-1, S.shape[2]), self.W_out.T, out=Z.reshape(-1, Z.shape[2]))
        d = Z[0]
        d -= target
        loss = float(np.vdot(d, d)) / (2 * self.sequences)
        d *= 1 / self.sequences
        np.matmul(d.T, S[0], out=self.W_out_gradient)
        if self.learn_leaks:
            np.matmul(Z[1:].reshape(2, -1), d.ravel(), out=self.leak_gradient)
        return loss

    def adam(self) -> None:
        """One step of all that is learned."""
        self.steps += 1
        g, m, v, work = self.gradient, self.mean, self.square, self.work
        m *= self.beta1
        np.multiply(g, self.rest1, out=work)
        m += work
        v *= self.beta2
        np.multiply(g, g, out=work)
        work *= 1 - self.beta2
        v += work
        np.multiply(v, 1 / (1 - self.beta2**self.steps), out=work)
        np.sqrt(work, out=work)
        work += self.epsilon
        np.divide(m, work, out=work)
        work *= self.rate
        work[: self.rows] *= 1 / (1 - self.both1[0] ** self.steps)
        if self.learn_leaks:
            work[self.rows :] *= 1 / (1 - self.both1[1] ** self.steps)
        self.moving -= work
        if self.learn_leaks:
            np.maximum(self.leaks, LEAST_LEAK, out=self.leaks)
            np.minimum(self.leaks, 1, out=self.leaks)
            self.spread_leaks()

    def spread_leaks(self) -> None:
        """Every unit's leak rate a, and 1 - a."""
        self.a[: self.first] = self.leaks[0]
        self.a[self.first : -1] = self.leaks[1]
        np.subtract(1, self.a, out=self.keep)


def parts_of(esn: Any) -> tuple[Array, Array, Array, Array]:
    """W1, W2, C and W_in of a hierarchy of two without bias, each times its factor, from the arrays it was drawn with."""
    numbers, drawn = esn.hyper, esn.drawn
    W1, W2 = (float(numbers.spectral_radius[k]) * drawn.recurrent[k].toarray() for k in (0, 1))
    C = float(numbers.coupling[0]) * drawn.couplings[0].toarray()
    return W1, W2, C, float(numbers.input_scaling[0]) * drawn.inputs[0]
