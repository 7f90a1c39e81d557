"""The online rule of two reservoirs as one writes it down from the paper, equation by equation, in NumPy.

    x_k   <- (1 - a_k) x_k + a_k f_k,      f_1 = tanh(r_1 W_1 x_1 + g W_in u),   f_2 = tanh(r_2 W_2 x_2 + c C x_1)
    e_11  <- (1 - a_1) e_11 + a_1 (1 - f_1^2) r_1 W_1 e_11 + f_1 - x_1
    e_22  <- (1 - a_2) e_22 + a_2 (1 - f_2^2) r_2 W_2 e_22 + f_2 - x_2
    e_21  <- (1 - a_2) e_21 + a_2 (1 - f_2^2) (r_2 W_2 e_21 + c C e_11)
    d = (W_out x - y) / B,    dE/dW_out = d x^T,    dE/da_1 = sum d (W_out (e_11, e_21)),    dE/da_2 = sum d (W_out (0, e_22))

then Adam on W_out, its intercept, and each leak rate. Vectorised over neurons and sequences, with dense matrices, and nothing
else done for speed: `online_numpy.py` is the same by hand for speed. It imports nothing of the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Adam:
    """One array and its moments."""

    def __init__(self, value: Any, rate: float, beta1: float, beta2: float = 0.999, epsilon: float = 1e-8) -> None:
        self.value = np.array(value)
        self.rate, self.beta1, self.beta2, self.epsilon = rate, beta1, beta2, epsilon
        self.mean, self.square, self.steps = np.zeros_like(self.value), np.zeros_like(self.value), 0

    def step(self, gradient: Any) -> None:
        """One step down the gradient."""
        self.steps += 1
        self.mean = self.beta1 * self.mean + (1 - self.beta1) * gradient
        self.square = self.beta2 * self.square + (1 - self.beta2) * gradient**2
        mean = self.mean / (1 - self.beta1**self.steps)
        square = self.square / (1 - self.beta2**self.steps)
        self.value = self.value - (self.rate * mean / (np.sqrt(square) + self.epsilon)).astype(self.value.dtype)


class PlainLearner:
    """One start; `parts` are W1, W2, C, W_in, each with its factor (`online_numpy.parts_of`); W_out (O, N + 1)."""

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
    ) -> None:
        self.W1, self.W2, self.C, self.W_in = (each.astype(dtype) for each in parts)
        self.W_out = Adam(W_out[:, :-1].astype(dtype), rate, 0.9)
        self.intercept = Adam(W_out[:, -1:].astype(dtype), rate, 0.9)
        self.leaks = [Adam(np.asarray(leak, dtype), leak_rate, 0.99) for leak in leaks]
        n1, n2 = len(self.W1), len(self.W2)
        self.dtype, self.sequences = dtype, sequences
        self.x1, self.x2 = np.zeros((n1, sequences), dtype), np.zeros((n2, sequences), dtype)
        self.e11, self.e21, self.e22 = np.zeros_like(self.x1), np.zeros_like(self.x2), np.zeros_like(self.x2)

    def partial_fit(self, u: Array, y: Array) -> float:
        """The next steps, u (B, T, 1) and y (B, T, O); returns the mean loss."""
        inputs = np.asarray(u.transpose(1, 2, 0), self.dtype)
        targets = np.asarray(y.transpose(1, 2, 0), self.dtype)
        return sum(self.step(u_t, y_t) for u_t, y_t in zip(inputs, targets, strict=True)) / len(inputs)

    def step(self, u: Array, y: Array) -> float:
        """One time step: u (1, B), y (O, B); returns the loss."""
        a1, a2 = (each.value for each in self.leaks)
        x1, x2, e11, e21, e22 = self.x1, self.x2, self.e11, self.e21, self.e22
        f1 = np.tanh(self.W1 @ x1 + self.W_in @ u)
        f2 = np.tanh(self.W2 @ x2 + self.C @ x1)
        self.e11 = (1 - a1) * e11 + a1 * (1 - f1**2) * (self.W1 @ e11) + f1 - x1
        self.e22 = (1 - a2) * e22 + a2 * (1 - f2**2) * (self.W2 @ e22) + f2 - x2
        self.e21 = (1 - a2) * e21 + a2 * (1 - f2**2) * (self.W2 @ e21 + self.C @ e11)
        self.x1, self.x2 = (1 - a1) * x1 + a1 * f1, (1 - a2) * x2 + a2 * f2

        x = np.concatenate([self.x1, self.x2])
        apart = self.W_out.value @ x + self.intercept.value - y
        d = apart / self.sequences
        first = self.W_out.value @ np.concatenate([self.e11, self.e21])
        second = self.W_out.value[:, len(self.x1) :] @ self.e22
        self.W_out.step(d @ x.T)
        self.intercept.step(d.sum(axis=1, keepdims=True))
        for leak, moved in zip(self.leaks, (first, second), strict=True):
            leak.step((d * moved).sum())
            leak.value = np.clip(leak.value, 0.001, 1)
        return float((apart**2).sum()) / (2 * self.sequences)
