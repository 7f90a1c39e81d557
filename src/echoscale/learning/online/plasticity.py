"""Intrinsic plasticity (Schrauwen et al. 2008): every neuron adapts its gain a and bias b until its outputs are Gaussian.

    y = tanh(a h + b)
    db = -rate (-mu / sigma^2 + y / sigma^2 (2 sigma^2 + 1 - y^2 + mu y)),     da = rate / a + db h

The rule descends the Kullback-Leibler divergence of the outputs from N(mu, sigma^2). It needs no targets and runs before a
readout is fitted. Gains and biases then become part of the weights. Gains above 1 also raise the effective spectral radius: a
silent network with a large spectral radius may become active by itself, and no gain makes such activity Gaussian.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from echoscale._internal import checks
from echoscale._internal.types import Floats
from echoscale.data.series import SeriesLike, as_series
from echoscale.engine import dynamics
from echoscale.engine.devices import precision_and_device
from echoscale.engine.dynamics import State, Weights
from echoscale.engine.esn import ESN
from echoscale.engine.hyper import Hyper, Parameter, into_network


def intrinsic_plasticity(
    esn: ESN, u: SeriesLike, *, mean: float = 0.0, spread: float = 0.2, rate: float = 1e-3, epochs: int = 10
) -> ESN:
    """Adapt gain a and bias b of every neuron to the inputs, until its outputs are approximately Gaussian.

        y = tanh(a h + b)  ~  N(mean, spread^2)

    Parameters
    ----------
    esn : ESN
        Network; it does not change.
    u : (T, F)
        Inputs in the units that the network receives.
    mean : float
        Wanted mean of the outputs y, in (-1, 1).
    spread : float
        Wanted standard deviation of the outputs y. Small values keep neurons near the linear regime.
    rate : float
        Learning rate of the rule, per step.
    epochs : int
        Number of passes through u.

    Returns
    -------
    ESN
        Network with the rows of its weights multiplied by a, and with b in its biases (bias_scaling 1).

    Examples
    --------
    >>> import numpy as np, echoscale as es
    >>> esn = es.single(30, input_scaling=2.0).build(n_inputs=1, seed=0)
    >>> u = es.measures.noise(1000)
    >>> calm = es.learning.intrinsic_plasticity(esn, u, spread=0.2)
    >>> bool(esn.run(u).std() > 0.4), bool(abs(calm.run(u).std() - 0.2) < 0.03)
    (True, True)
    """
    series = as_series(u, esn.columns)
    if series.count != 1:
        raise ValueError(f"u holds {series.count} series: neurons adapt along one.")
    mu, sigma = checks.number(mean, "mean"), checks.time_step(spread, "spread")
    if not -1 < mu < 1:
        raise ValueError(f"mean must lie in (-1, 1), where outputs of tanh lie, got {mu}.")
    eta, rounds = checks.time_step(rate, "rate"), checks.integer(epochs, "epochs", minimum=1)
    wide = ESN(esn.network, esn.n_inputs, esn.seed, "float64", esn.device, esn.drawn, esn.hyper, esn.n_outputs)
    with precision_and_device("float64", esn.device):
        state: State = tuple(jnp.zeros((size, 1)) for size in esn.sizes)
        gains, biases = (tuple(jnp.full((size, 1), value) for size in esn.sizes) for value in (1.0, 0.0))
        inputs = jnp.asarray(series.values[0])[:, :, None]
        for _ in range(rounds):
            state, gains, biases = _adapted(wide.weights(1), wide.numbers(), state, gains, biases, inputs, mu, sigma, eta)
    a, b = ([np.asarray(each, np.float64)[:, 0] for each in part] for part in (gains, biases))
    if not all(np.isfinite(each).all() and (each > 0).all() for each in a):
        raise ValueError(f"the gains did not settle with rate={rate:g}: give a smaller rate, or more spread.")
    return _with(esn, a, b)


@jax.jit
def _adapted(
    weights: Weights,
    hyper: Hyper,
    state: State,
    gains: State,
    biases: State,
    u: jax.Array,
    mu: float,
    sigma: float,
    rate: float,
) -> tuple[State, State, State]:
    """States, gains and biases (n_k, 1) after the steps u (T, F, 1)."""
    hyper = dynamics.resolved(weights, hyper)

    def one_step(carry: tuple[State, State, State], u_t: jax.Array) -> tuple[tuple[State, State, State], None]:
        x, a, b = carry
        new: list[jax.Array] = []
        adapted = []
        for k, before in enumerate(x):
            h = dynamics.drive(weights, hyper, k, x, new, u_t, before)
            y = jnp.tanh(a[k] * h + b[k])
            down = -rate * (-mu + y * (2 * sigma**2 + 1 - y**2 + mu * y)) / sigma**2
            new.append(dynamics.move(weights, hyper, k, before, y))
            adapted.append((a[k] + rate / a[k] + down * h, b[k] + down))
        up, shifted = zip(*adapted, strict=True)
        return (tuple(new), up, shifted), None

    return jax.lax.scan(one_step, (state, gains, biases), u)[0]


def _with(esn: ESN, a: list[Floats], b: list[Floats]) -> ESN:
    """The network with these gains and biases in its weights: a row of the weights holds all inputs of a neuron."""

    def rows(gain: Floats, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array(scipy.sparse.diags_array(gain) @ matrix)

    drawn, own = esn.drawn, esn.hyper.bias_scaling
    targets = [each.target for each in esn.network.couplings]
    changed = drawn._replace(
        recurrent=tuple(rows(gain, each) for gain, each in zip(a, drawn.recurrent, strict=True)),
        inputs=tuple(gain[:, None] * each for gain, each in zip(a, drawn.inputs, strict=True)),
        biases=tuple(gain * float(s) * each + add for gain, s, each, add in zip(a, own, drawn.biases, b, strict=True)),
        couplings=tuple(rows(a[k], each) for k, each in zip(targets, drawn.couplings, strict=True)),
        feedback=tuple(gain[:, None] * each for gain, each in zip(a, drawn.feedback, strict=False)),
    )
    places = [Parameter("bias_scaling", k) for k in range(len(a))]
    network = into_network(esn.network, places, [1.0] * len(a))
    hyper = esn.hyper.replace(bias_scaling=1.0)
    return ESN(network, esn.n_inputs, esn.seed, esn.dtype, esn.device, changed, hyper, esn.n_outputs)
