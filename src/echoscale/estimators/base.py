"""What both estimators share: flat parameters to a network, checks of the input, the washout, the ridge fit, the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from echoscale import _checks, network
from echoscale.esn import ESN
from echoscale.estimators.seed import RandomState, seed_of
from echoscale.readouts.ridge import best_penalty, check_path, ridge
from echoscale.readouts.statistics import Statistics, split_statistics
from echoscale.series import (
    Series,
    SeriesLike,
    as_series,
    axes,
    check_longer_than,
    is_list_of_series,
    refuse_masked,
    washout_steps,
)

if TYPE_CHECKING:
    from echoscale.engine.machine import DeviceLike

Array = npt.NDArray[Any]

STRUCTURES = ("single", "parallel", "hierarchical")


class ESNEstimator(BaseEstimator):
    """Flat parameters, so that clone, GridSearchCV and set_params reach every one of them; see `ESNRegressor`."""

    n_features_in_: int
    washout_: int
    steps_seen_: npt.NDArray[np.int64]

    def __init__(
        self,
        units: int | Sequence[int] = 100,
        structure: str = "single",
        leak_rate: float | Sequence[float] = 1.0,
        spectral_radius: float | Sequence[float] = 0.95,
        input_scaling: float | Sequence[float] = 1.0,
        bias_scaling: float | Sequence[float] = 0.0,
        coupling: float | Sequence[float] = 1.0,
        connections: int | Sequence[int | None] | None = None,
        topology: object = "normal",
        coupling_delay: int = 1,
        *,
        network: network.Network | None = None,
        washout: int | None = None,
        ridge: float | Sequence[float] = 1e-5,
        validation: float | int = 0.2,
        fit_intercept: bool = True,
        direct: bool = False,
        dtype: str = "float32",
        device: DeviceLike = None,
        random_state: RandomState = None,
    ) -> None:
        self.units = units
        self.structure = structure
        self.leak_rate = leak_rate
        self.spectral_radius = spectral_radius
        self.input_scaling = input_scaling
        self.bias_scaling = bias_scaling
        self.coupling = coupling
        self.connections = connections
        self.topology = topology
        self.coupling_delay = coupling_delay
        self.network = network
        self.washout = washout
        self.ridge = ridge
        self.validation = validation
        self.fit_intercept = fit_intercept
        self.direct = direct
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    def make_network(self) -> network.Network:
        """The network that the parameters describe.

        Returns
        -------
        Network
            Not built yet: `fit` draws its weights.
        """
        given = {name: getattr(self, name) for name in _NETWORK_PARAMETERS}
        if self.network is not None:
            if not isinstance(self.network, network.Network):
                raise TypeError(f"network must be an echoscale Network, got {self.network!r}.")
            changed = [name for name, value in given.items() if not _same(value, _DEFAULTS[name])]
            if changed:
                raise ValueError(
                    f"network= is given, so {', '.join(changed)} would be ignored: "
                    "set them in the network, or leave network out."
                )
            return self.network
        structure = _checks.choice(given.pop("structure"), STRUCTURES, "structure")
        sizes = given.pop("units")
        several = isinstance(sizes, Sequence | np.ndarray)
        if structure == "single" and several and len(sizes) != 1:
            raise ValueError(f"units={sizes!r} names {len(sizes)} levels: set structure to 'parallel' or 'hierarchical'.")
        sizes = list(sizes) if several else [sizes]
        if structure == "hierarchical":
            return network.hierarchical(sizes, **given)
        unused = {name: given.pop(name) for name in ("coupling", "coupling_delay")}
        changed = [name for name, value in unused.items() if not _same(value, _DEFAULTS[name])]
        if changed:
            raise ValueError(f"structure={structure!r} has no couplings, so {', '.join(changed)} would be ignored.")
        return network.parallel(sizes, **given)

    def _build(self, n_inputs: int) -> ESN:
        seed = seed_of(self.random_state)
        return self.make_network().build(n_inputs, seed=seed, dtype=self.dtype, device=self.device)

    def _check_parameters(self) -> npt.NDArray[np.float64]:
        """The penalties, as an array; the washout is that of the data."""
        for name in ("fit_intercept", "direct"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        validation_parts(self.validation)
        washout_steps(self.washout)
        return check_path(self.ridge)

    def _washout(self, series: Series) -> int:
        """The steps of these series that do not count: as given, or by the shortest of them."""
        return washout_steps(self.washout, int(series.lengths.min()))

    def _check_ready(self) -> None:
        if hasattr(self, "esn_") and not hasattr(self, "readout_"):
            raise NotFittedError(
                f"the {int(self.steps_seen_.max())} steps so far are all in the washout of {self.washout_}: there is no "
                "readout yet. Add more steps with partial_fit, or set a smaller washout."
            )
        check_is_fitted(self, "readout_")

    @staticmethod
    def _many(X: SeriesLike) -> bool:
        """A batch or a list of series, which scikit-learn's own checks do not know."""
        return is_list_of_series(X) or axes(X) >= 3

    def _series(self, X: SeriesLike, reset: bool) -> Series:
        """Checked input without a target; `reset` on the first fit, when the number of features becomes known."""
        if self._many(X):
            series = as_series(X, None if reset else self.n_features_in_, name="X")
            if reset:
                self.n_features_in_ = series.features
            return series
        refuse_masked(X, "X")
        # Gaps are left to as_series, which says where they are.
        checked = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        return as_series(checked, name="X")

    def _fit_statistics(self, parts: Sequence[Statistics], folds: bool, penalties: npt.NDArray[np.float64]) -> None:
        """Choose the penalty on the parts (training and validation, or folds), then solve on all of them together."""
        intercept = bool(self.fit_intercept)
        if len(penalties) == 1:
            self.ridge_ = float(penalties[0])
        elif folds:
            pairs = [(_sum([*parts[:k], *parts[k + 1 :]]), held_out) for k, held_out in enumerate(parts)]
            self.ridge_ = float(best_penalty(pairs, penalties, fit_intercept=intercept))
        else:
            self.ridge_ = float(best_penalty([(parts[0], parts[1])], penalties, fit_intercept=intercept))
        self.statistics_ = _sum(parts)
        self.readout_ = ridge(self.statistics_, self.ridge_, fit_intercept=intercept)

    def _segments(self, lengths: npt.NDArray[np.int64], washout: int, several: bool) -> tuple[list[Any], bool]:
        """Edges of the segments of time for the statistics, and whether they are folds (else: training, validation)."""
        if not several:
            return [np.array([washout, length]) for length in lengths], False
        parts, folds = validation_parts(self.validation)
        if folds:
            return [np.linspace(washout, length, parts + 1).astype(np.int64) for length in lengths], True
        cut = [washout + max(round((length - washout) * (1 - self.validation)), 1) for length in lengths]
        return [np.array([washout, at, length]) for at, length in zip(cut, lengths, strict=True)], False

    def _fit_steps(self, series: Series, targets: Series) -> None:
        """Fit on targets step by step, all series from the zero state."""
        penalties, washout = self._check_parameters(), self._washout(series)
        check_longer_than(series, washout, "X")
        left = int((series.lengths - washout).sum())
        if left < 2:
            raise ValueError(f"X leaves {left} step after washout={washout}: a readout needs at least 2 steps to be fitted to.")
        edges, folds = self._segments(series.lengths, washout, len(penalties) > 1)
        esn = self._build(series.features)
        parts, last = split_statistics(esn, series, targets, edges, direct=bool(self.direct))
        if min(float(part.count) for part in parts) < 1:
            raise ValueError(
                f"validation={self.validation} leaves a part of the series without a step to count after washout={washout}; "
                "give longer series or fewer folds."
            )
        self.esn_, self.washout_ = esn, washout  # only now, so that a fit that fails leaves the last one whole
        self._fit_statistics(parts, folds, penalties)
        self._remember(series, targets, last)

    def _partial_fit_steps(self, series: Series, targets: Series, new_series: bool) -> None:
        """Add a chunk that continues the series of the last call (or begins new ones)."""
        penalties = self._check_parameters()
        if len(penalties) > 1:
            raise ValueError(
                f"partial_fit needs one fixed ridge, got {len(penalties)}: there is no validation data to choose by."
            )
        first = not hasattr(self, "esn_")
        # A stream's end is not known: the washout is that of a fit before, or 100 steps.
        washout = self.washout_ if self.washout is None and not first else washout_steps(self.washout)
        esn = self._build(series.features) if first else self.esn_
        begin = first or new_series
        seen = np.zeros(series.count, np.int64) if begin else self.steps_seen_
        if not begin and np.shape(self.state_)[:-1] != (() if series.kind == "one" else (series.count,)):
            raise ValueError(
                f"this chunk holds {series.count} series, the last one had {np.shape(self.state_)[:-1] or 1}; "
                "pass new_series=True to begin others."
            )
        starts = np.clip(washout - seen, 0, series.lengths)
        edges = list(np.stack([starts, series.lengths], axis=1))
        start = None if begin else self.state_
        [part], last = split_statistics(esn, series, targets, edges, direct=bool(self.direct), state=start)
        self.esn_, self.washout_ = esn, washout
        self.statistics_ = part if first else self.statistics_ + part
        self._remember(series, targets, last)
        self.steps_seen_ = seen + series.lengths
        self.ridge_ = float(penalties[0])
        if self.statistics_.count > 0:
            self.readout_ = ridge(self.statistics_, self.ridge_, fit_intercept=bool(self.fit_intercept))

    def _remember(self, series: Series, targets: Series, last: Array) -> None:
        """What continues from here: the last states, and the last targets for a forecast that begins after them."""
        self.state_ = last
        self.steps_seen_ = series.lengths
        self.last_target_ = last_rows(targets)

    def _outputs(self, series: Series, state: npt.ArrayLike | None) -> tuple[Any, Array]:
        """Readout of every step, (T, O), (B, T, O) or a list, and the last states. No state is kept."""
        self._check_ready()
        readout, units, direct = self.readout_, self.esn_.units, bool(self.direct)
        outputs = [np.empty((int(length), len(readout.intercept))) for length in series.lengths]

        def consume(lanes: Any, start: int, states: Any) -> None:
            rows = np.asarray(states)
            for place, b in enumerate(lanes):
                out = outputs[b][start : start + len(rows)]
                out[:] = rows[: len(out), place].astype(np.float64) @ readout.coef[:, :units].T + readout.intercept
                if direct:
                    out += series.values[b][start : start + len(out)] @ readout.coef[:, units:].T

        last = self.esn_.run_chunks(series, consume, state=state)
        return as_given(outputs, series), last


def validation_parts(validation: object) -> tuple[int, bool]:
    """A whole number >= 2 is a number of folds; a fraction in (0, 1) is the share of a validation tail."""
    if isinstance(validation, int | np.integer) and not isinstance(validation, bool):
        return _checks.integer(validation, "validation, as a number of folds,", minimum=2), True
    share = _checks.number(validation, "validation")
    if not 0 < share < 1:
        raise ValueError(f"validation must be a fraction in (0, 1) or a number of folds from 2 on, got {validation}.")
    return 2, False


def as_given(values: list[Array], series: Series) -> Any:
    """One array for one series, a stack for a batch, a list for a list."""
    if series.kind == "list":
        return values
    return values[0] if series.kind == "one" else np.stack(values)


def map_given(function: Callable[[Array], Array], values: Array | list[Array]) -> Any:
    """`function` of an array, or of every array of a list."""
    return [function(each) for each in values] if isinstance(values, list) else function(values)


def counted(values: Sequence[npt.ArrayLike] | Array, washout: int) -> Array:
    """The rows after the washout, of all series together."""
    return np.concatenate([np.asarray(each)[washout:] for each in values])


def name_gaps(X: object, y: object) -> None:
    """Say where a target is not finite, or data are masked; targets that are no numbers at all are left to scikit-learn."""
    refuse_masked(X, "X")
    refuse_masked(y, "y")
    try:
        values = np.asarray(y)
    except ValueError:
        return
    if values.dtype.kind == "f" and values.ndim in (1, 2) and values.size:
        as_series(values, name="y")


def last_rows(series: Series) -> Array:
    """The last step of one series, (F,), or of several, (B, F)."""
    ends = np.stack([each[-1] for each in series.values])
    return ends[0] if series.kind == "one" else ends


def _sum(parts: Sequence[Statistics]) -> Statistics:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _same(value: object, default: object) -> bool:
    return value is default or (np.ndim(np.asarray(value)) == 0 and bool(value == default))


_NETWORK_PARAMETERS = (
    "units",
    "structure",
    "leak_rate",
    "spectral_radius",
    "input_scaling",
    "bias_scaling",
    "coupling",
    "connections",
    "topology",
    "coupling_delay",
)
_DEFAULTS = {name: getattr(ESNEstimator(), name) for name in _NETWORK_PARAMETERS}
