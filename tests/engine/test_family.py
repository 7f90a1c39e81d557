"""The descriptions of docs/family.md against loops that are written from the published equations alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import echoscale as es

PAGE = Path(__file__).parents[2] / "docs" / "family.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
U = np.random.default_rng(1).uniform(-1, 1, 60)
Named = dict[str, Any]
Array = np.ndarray


@pytest.fixture(scope="module")
def named() -> Named:
    """What the page defines, once all its code has run."""
    found: Named = {}
    for block in BLOCKS:
        exec(block, found)
    return found


def deep(g: Named) -> Array:
    x1, x2, rows = np.zeros(g["n"]), np.zeros(g["n"]), []
    for u in U:
        x1 = 0.2 * x1 + 0.8 * np.tanh(g["v"] * u + g["W"] @ x1 + g["b"])
        x2 = 0.8 * x2 + 0.2 * np.tanh(g["V"] @ x1 + g["W"].T @ x2)
        rows.append(np.concatenate([x1, x2]))
    return np.array(rows)


def es2n(g: Named) -> Array:
    x, rows = np.zeros(g["n"]), []
    for u in U:
        x = 0.3 * np.tanh(g["W"] @ x + g["v"] * u) + 0.7 * g["O"] @ x
        rows.append(x)
    return np.array(rows)


def resesn(g: Named) -> Array:
    """O moves the state of neuron i - 1 to neuron i; states in our units, by the factor that the page gives."""
    h, rows = np.zeros(g["n"]), []
    for u in U:
        h = 0.9 * h[np.arange(g["n"]) - 1] + 0.4 * np.tanh(g["W"] @ h + g["v"] * u + g["b"])
        rows.append(h)
    return np.array(rows) * (0.1 / 0.4)


def eusn(g: Named) -> Array:
    x, rows = np.zeros(g["n"]), []
    for u in U:
        slope = np.tanh((g["W"] - g["W"].T - 0.01 * np.eye(g["n"])) @ x + g["v"] * u + g["b"])
        x = x + 0.05 * slope
        rows.append(np.concatenate([slope, x]))
    return np.array(rows)


def rmn(g: Named) -> Array:
    return memory_network(g, fresh=False)


def memory_network(g: Named, fresh: bool) -> Array:
    m, h, rows = np.zeros(g["n"]), np.zeros(g["n"]), []
    for u in U:
        last = m
        m = np.roll(m, 1) + g["v"] * u
        h = 0.7 * h + 0.3 * np.tanh(g["W"] @ h + g["V"] @ (m if fresh else last) + g["v"] * u + g["b"])
        rows.append(np.concatenate([m, h]))
    return np.array(rows)


def line(g: Named) -> Array:
    x, rows = np.zeros(g["n"]), []
    for u in U:
        x = np.array([np.tanh(0.9 * (x[i - 1] if i else 0.0) + np.sign(g["v"][i]) * u) for i in range(g["n"])])
        rows.append(x)
    return np.array(rows)


def cycle(g: Named) -> Array:
    x, rows = np.zeros(g["n"]), []
    for u in U:
        x = np.array([np.tanh(0.9 * x[i - 1] + np.sign(g["v"][i]) * u) for i in range(g["n"])])
        rows.append(x)
    return np.array(rows)


def delayed(g: Named) -> Array:
    """Node by node: the readings of one delay depend on each other."""
    n, mask, kept = g["n"], np.sign(g["v"]), np.exp(-0.2)
    x, rows = np.zeros(n), []
    for u in U:
        before, f, new = x[-1], np.zeros(n), np.zeros(n)
        for i in range(n):
            f[i] = np.tanh(0.8 * x[i] + mask[i] * u)
            before = new[i] = kept * before + (1 - kept) * f[i]
        x = new
        rows.append(np.concatenate([f, x]))
    return np.array(rows)


def lmu(g: Named) -> Array:
    """The memory by the exact solution of dm/dt = A m + B s, with s constant during a step, as a long Taylor series."""
    q, theta, v = 12, 30.0, g["v"]
    A, B = np.zeros((q, q)), np.zeros(q)
    for i in range(q):
        B[i] = (2 * i + 1) * (-1) ** i / theta
        for j in range(q):
            A[i, j] = (2 * i + 1) / theta * (-1 if i < j else (-1) ** (i - j + 1))
    m, h, rows = np.zeros(q), np.zeros(g["n"]), []
    for u in U:
        s = u + 0.1 * v @ h - 0.1 * v[:q] @ m
        term = A @ m + B * s
        for order in range(1, 40):
            m = m + term
            term = A @ term / (order + 1)
        h = np.tanh(v * u + g["W"] @ h + g["V"][:, :q] @ m)
        rows.append(np.concatenate([m, h]))
    return np.array(rows)


def lags(g: Named) -> Array:
    return np.stack([np.concatenate([np.zeros(lag), U[: len(U) - lag]]) for lag in range(12)], axis=1)


MODELS: dict[str, Callable[[Named], Array]] = {
    each.__name__: each for each in (deep, es2n, resesn, eusn, rmn, line, cycle, delayed, lmu, lags)
}


@pytest.mark.parametrize("name", MODELS)
def test_states_are_those_of_the_published_equation(name: str, named: Named) -> None:
    expected = MODELS[name](named)
    assert np.abs(expected).max(axis=0).min() > 0.01  # every neuron takes part
    found = named[name].build(1, dtype="float64").run(U[:, None])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_every_network_of_the_page_is_compared(named: Named) -> None:
    assert {name for name, each in named.items() if isinstance(each, es.Network)} == set(MODELS)


def test_a_memory_network_without_delay_receives_the_new_memory(named: Named) -> None:
    rmn = named["rmn"]
    found = es.Network(rmn.reservoirs, rmn.couplings, coupling_delay=0).build(1, dtype="float64").run(U[:, None])
    np.testing.assert_allclose(found, memory_network(named, fresh=True), rtol=0, atol=1e-12)


def test_products_of_a_delay_line_are_the_columns_of_nvar(named: Named) -> None:
    """The same predictions, once no window reaches back before the start."""
    steps = np.random.default_rng(2).uniform(-1, 1, 300)
    target = steps**2 + 0.5 * np.roll(steps, 3) * np.roll(steps, 11)
    given: Named = {"ridge": 1e-6, "scale": None}
    ours = named["model"].set_params(**given, washout=11, dtype="float64").fit(steps[:, None], target)
    theirs = es.NVAR(lags=12, **given).fit(steps[:, None], target)
    assert ours.readout_.coef.shape == theirs.readout_.coef.shape
    np.testing.assert_allclose(ours.predict(U[:, None])[11:], theirs.predict(U[:, None])[11:], rtol=0, atol=1e-9)


def test_a_plain_factor_is_no_spectral_radius(named: Named) -> None:
    """Matrices that are used as they are give no warning, whatever the factor; tests turn warnings into errors."""
    assert named["rmn"].reservoirs[0].spectral_radius == 1.0
    with pytest.warns(es.network.EchoStateWarning, match="spectral radius 1 "):
        es.single(5, spectral_radius=1.0)
