"""The closed loop of a fitted model as a dynamical system: Lyapunov exponents, valid times, and their spread over draws.

    z(t+1) = F(z(t)),   z = states and last inputs,   J(t) Q(t) = Q(t+1) R(t),   J = dF/dz
    l_i    = mean over t of log |R_ii(t)| / dt                                  (Benettin et al. 1980; Pathak et al. 2017)

The exponents are those of the model. They are the exponents of the system behind the data as far as the model has learned that
system. A network also has exponents of its own, the conditional ones: exponents of the system below them cannot be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

from echoscale._internal import checks
from echoscale._internal.table import Table
from echoscale._internal.types import Floats
from echoscale.data.metrics import valid_time
from echoscale.data.series import SeriesLike, as_series, washout_steps
from echoscale.engine.devices import COMPILER_OPTIONS, device_of, precision_and_device
from echoscale.measures.lyapunov import CHUNK, stretches
from echoscale.readouts.closed_loop import Loop, advance, forecast

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# Blocks of time whose means give the standard error of an exponent.
BLOCKS = 20
# Share of the free run at its start that is left out, while states and directions settle.
SETTLING = 0.1
# Standard deviations of the data from their mean beyond which a loop has diverged.
FAR = 100.0


class RunsFreely(Protocol):
    """A fitted model with a closed loop, such as `ESNRegressor` and `NVAR`."""

    def loop(self, warmup: Any, *, dtype: str | None = None) -> Loop:
        """Returns the loop after a warm-up."""


@dataclass(frozen=True, eq=False, repr=False)
class ClosedLoop:
    """The closed loop of one or several fitted models: the result of `closed_loop`. Print it to read a table.

    Attributes
    ----------
    data : xarray.Dataset
        `exponent` and its standard `error` over (draw, place), per unit of time, the largest first; `valid_time` over (draw,
        origin), in units of time; `forecast` over (draw, step, feature) and `truth` over (step, feature), from the first
        origin.
    """

    data: xarray.Dataset

    @cached_property
    def exponents(self) -> Floats:
        """Exponents per unit of time, (k,), means over the draws."""
        return np.asarray(self.data.exponent.mean("draw"))

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of the exponents, (k,): from blocks of time, or from the draws where that is larger."""
        draws, exponents = self.data.sizes["draw"], self.data.exponent
        within = np.sqrt((self.data.error**2).mean("draw") / draws)
        between = exponents.std("draw", ddof=1) / draws**0.5 if draws > 1 else within
        return np.asarray(np.maximum(within, between))

    @cached_property
    def dimension(self) -> float | None:
        """Kaplan-Yorke dimension j + (l_1 + ... + l_j) / |l_(j+1)|, j the last with a sum >= 0; None with too few exponents."""
        sums = np.cumsum(self.exponents)
        below = np.flatnonzero(sums < 0)
        if not len(below):
            return None
        j = int(below[0])
        return 0.0 if j == 0 else float(j + sums[j - 1] / abs(self.exponents[j]))

    @cached_property
    def table(self) -> Table:
        """One row per exponent, then the dimension and the valid time: value, standard error and spread over the draws."""
        several, rows = self.data.sizes["draw"] > 1, list[tuple[Any, ...]]()
        spreads = np.asarray(self.data.exponent.std("draw", ddof=1)) if several else [None] * len(self.exponents)
        for place, (value, error, spread) in enumerate(zip(self.exponents, self.errors, spreads, strict=True), 1):
            rows.append((f"exponent {place}", float(value), float(error), None if spread is None else float(spread)))
        rows.append(("Kaplan-Yorke dimension", self.dimension, None, None))
        times = np.asarray(self.data.valid_time)
        means = times.mean(axis=1)
        of = means if several else times[0]
        error = float(of.std(ddof=1) / len(of) ** 0.5) if len(of) > 1 else None
        spread = float(means.std(ddof=1)) if several else None
        rows.append(("valid time", float(times.mean()), error, spread))
        largest = float(self.exponents[0])
        if largest > 0:
            of_error, of_spread = (None if each is None else largest * each for each in (error, spread))
            rows.append(("valid time, Lyapunov times", largest * float(times.mean()), of_error, of_spread))
        title = f"Closed loop of {self.data.sizes['draw']} model{'s' * several}, dt = {self.data.attrs['dt']:g}"
        over = "draws" if several else "origins"
        notes = [f"Error: standard error over {'draws or ' * several}{BLOCKS} blocks of time; of valid times, over {over}."]
        if self.dimension is None:
            notes.append("The dimension needs more exponents: the sum of these is not negative.")
        return Table(("measure", "value", "error", "spread over draws"), tuple(rows), title, tuple(notes))

    def plot(self) -> Figure:
        """Plot the exponents with their errors, the first forecasts beside the truth, and the valid times."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11, 3.5), layout="constrained")
        spectrum, series, times = figure.subplots(1, 3)
        data, dt = self.data, self.data.attrs["dt"]
        for draw in range(data.sizes["draw"]):
            spectrum.plot(data["place"], data.exponent[draw], ".", color="C0", alpha=0.4)
            series.plot(dt * data["step"], data.forecast[draw, :, 0], color="C0", linewidth=0.8, alpha=0.6)
            ordered = np.sort(data.valid_time[draw])[::-1]
            times.step(ordered, (np.arange(len(ordered)) + 1) / len(ordered), color="C0", alpha=0.6)
        spectrum.errorbar(data["place"], self.exponents, self.errors, fmt="_", color="black", capsize=3)
        spectrum.axhline(0, color="black", linewidth=0.5)
        spectrum.set(xlabel="place", ylabel="exponent per unit of time", title="Lyapunov exponents")
        series.plot(dt * data["step"], data.truth[:, 0], color="black", linewidth=1, label="truth")
        series.set(xlabel="time", ylabel="first feature", title="forecasts from the first origin")
        series.legend(frameon=False, fontsize="small")
        times.set(xlabel="time", ylabel="share of origins", title="forecasts that are still valid", ylim=(0, 1.02))
        return figure

    def __repr__(self) -> str:
        return str(self.table)


def closed_loop(
    model: RunsFreely | Sequence[RunsFreely],
    u: SeriesLike,
    k: int = 3,
    *,
    dt: float = 1.0,
    steps: int = 10_000,
    washout: int | None = None,
    origins: int = 20,
    horizon: int | None = None,
    threshold: float = 0.4,
    seed: int = 0,
) -> ClosedLoop:
    """Measure the closed loop of a fitted model as a dynamical system: Lyapunov exponents and valid times, with their errors.

        z(t+1) = F(z(t)),   l_i = mean over t of log |R_ii(t)| / dt,   J(t) Q(t) = Q(t+1) R(t),   J = dF/dz

    z holds the states and the last inputs of the model, whose outputs are its next inputs. Several models, such as one network
    drawn from several seeds, show how much the results depend on the draw. The loop runs in float64.

    Parameters
    ----------
    model : ESNRegressor, NVAR or list of them
        Model, or models, fitted one step ahead: `fit(u[:-1], u[1:])`.
    u : (T, F)
        Held-out series of the same system, in units of the data.
    k : int
        Number of exponents, at most the number of states and remembered inputs.
    dt : float
        Time between two steps: the unit of exponents and valid times.
    steps : int
        Number of free steps for the exponents, at least 200. The first tenth is left out, while states and directions settle.
    washout : int, optional
        Number of steps of u that a model receives before a free run; by default 100, or a tenth of u if that is less.
    origins : int
        Number of forecasts, which begin at evenly spaced steps of u.
    horizon : int, optional
        Length of the forecasts in steps; by default half of u after the washout, and at most 1,000.
    threshold : float
        Largest error of a valid forecast, in standard deviations of u; see `echoscale.valid_time`.
    seed : int
        Random seed of the first directions.

    Returns
    -------
    ClosedLoop
        Exponents, valid times and forecasts; print it to read a table, `.plot()` makes a figure.

    Examples
    --------
    The Hénon map has two exponents. The largest is 0.419, and their sum is log 0.3 = -1.204.

    >>> import numpy as np, echoscale as es
    >>> u = np.zeros((3000, 2))
    >>> for t in range(2999):
    ...     u[t + 1] = 1 - 1.4 * u[t, 0] ** 2 + u[t, 1], 0.3 * u[t, 0]
    >>> model = es.NVAR(lags=1, degree=2).fit(u[:999], u[1:1000])
    >>> found = es.measures.closed_loop(model, u[1000:], k=2)
    >>> round(float(found.exponents[0]), 1), round(float(found.exponents.sum()), 3)
    (0.4, -1.204)
    >>> len(found.plot().axes)
    3
    """
    models = list(model) if isinstance(model, Sequence) else [model]
    _check_models(models)
    count, free = checks.integer(k, "k", minimum=1), checks.integer(steps, "steps", minimum=200)
    unit, many = checks.time_step(dt), checks.integer(origins, "origins", minimum=1)
    series = as_series(u, name="u")
    if series.count != 1:
        raise ValueError(f"u holds {series.count} series, but closed_loop needs one. Give the longest.")
    values = np.asarray(series.values[0], np.float64)
    warm = max(washout_steps(washout, len(values)), 1)
    ahead = min((len(values) - warm) // 2, 1000) if horizon is None else checks.integer(horizon, "horizon", minimum=1)
    if ahead < 1 or len(values) < warm + ahead:
        raise ValueError(
            f"u has {len(values)} steps, but a warm-up of {warm} and a forecast of {max(ahead, 1)} need at least "
            f"{warm + max(ahead, 1)}."
        )
    begins = np.linspace(warm, len(values) - ahead, many).astype(int)
    before, truth = (np.stack([values[t + a : t + b] for t in begins]) for a, b in ((-warm, 0), (0, ahead)))
    spread = values.std(axis=0)
    found, times, forecasts = [], [], []
    for draw, each in enumerate(models):
        logs = _logs(each.loop(before[0], dtype="float64"), values, count, free, seed, f"draw {draw}: " * (len(models) > 1))
        blocks = np.stack([part.mean(axis=0) for part in np.array_split(logs[int(SETTLING * free) :], BLOCKS)]) / unit
        order = np.argsort(-logs[int(SETTLING * free) :].mean(axis=0))  # converged exponents are in order already
        found.append(np.stack([blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / BLOCKS**0.5])[:, order])
        made = forecast(each.loop(before, dtype="float64"), ahead)
        times.append(valid_time(truth, made, threshold=threshold, dt=unit, spread=spread))
        forecasts.append(made[0])
    return ClosedLoop(_labelled(np.stack(found), np.stack(times), np.stack(forecasts), truth[0], begins, unit, threshold))


def _check_models(models: Sequence[Any]) -> None:
    if not models:
        raise ValueError("model is an empty list: give one fitted model at least.")
    for each in models:
        if not hasattr(each, "loop"):
            raise TypeError(
                f"{type(each).__name__} has no closed loop: give an ESNRegressor or an NVAR that is fitted one step ahead, "
                "fit(u[:-1], u[1:])."
            )


def _logs(model: Loop, u: Floats, count: int, steps: int, seed: int, who: str) -> Floats:
    """log |R_ii| of every free step, (steps, k); an error if the loop diverges."""
    with precision_and_device("float64", device_of(model.device)):
        place = (*(np.asarray(part, np.float64) for part in model.state), np.asarray(model.window, np.float64))
        dimension = sum(map(len, place))
        if count > dimension:
            raise ValueError(
                f"k={count} exponents of a loop with {dimension} states and inputs: there are at most {dimension}."
            )
        rng = np.random.default_rng(checks.integer(seed, "seed"))
        directions: Any = np.linalg.qr(rng.standard_normal((dimension, count)))[0][None]
        middle, spread, found = u.mean(axis=0), u.std(axis=0), []
        for begin in range(0, steps, CHUNK):
            place, directions, logs = _free(model.net, place, directions, np.zeros((CHUNK, 0)))
            last = np.asarray(place[-1])[: len(middle), 0]
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                away = np.abs((last if model.units.is_none else model.units.back(last)) - middle) / spread
            if not (away <= FAR).all():  # also for NaN
                raise ValueError(
                    f"{who}the closed loop diverges: after {begin + CHUNK} free steps, an output is {away.max():.3g} standard "
                    "deviations from the mean of u. Exponents belong to a loop that stays near its data. Fit with a larger "
                    "penalty (ridge=1e-4), with noise=1e-3 on the states, or with more data."
                )
            found.append(np.asarray(logs)[:, 0])
    return np.asarray(np.concatenate(found)[:steps])


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def _free(net: Any, place: Any, directions: jax.Array, empty: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
    """`stretches` of a loop, which receives nothing."""
    return stretches(lambda z, _: advance(net, z), place, directions, empty, 1)


def _labelled(
    found: Floats, times: Floats, forecasts: Floats, truth: Floats, begins: Floats, dt: float, threshold: float
) -> xarray.Dataset:
    import xarray

    return xarray.Dataset(
        {
            "exponent": (("draw", "place"), found[:, 0]),
            "error": (("draw", "place"), found[:, 1]),
            "valid_time": (("draw", "origin"), times),
            "forecast": (("draw", "step", "feature"), forecasts),
            "truth": (("step", "feature"), truth),
        },
        {"place": np.arange(1, found.shape[2] + 1), "origin": begins, "step": np.arange(1, len(truth) + 1)},
        {"measure": "closed loop", "dt": dt, "threshold": threshold},
    )
