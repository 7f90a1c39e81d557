"""Estimators with a network: their parameters, and what the estimators with an output at every step share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from echoscale import network
from echoscale._internal import checks
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array, Floats
from echoscale.data.scaling import STANDARD, Scaling, scaling_of
from echoscale.data.series import Series, check_longer_than, washout_steps
from echoscale.engine.esn import ESN
from echoscale.estimators._validation import RandomState, counted, last_rows, seed_of
from echoscale.estimators.steps import Steps
from echoscale.readouts import fit, penalties, splits
from echoscale.readouts.columns import Columns
from echoscale.readouts.fit import Fitted
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.statistics import Statistics

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


STRUCTURES = ("single", "parallel", "hierarchical")


class ESNEstimator(BaseEstimator):
    """An estimator with a network, and with an output at every step; see `ESNRegressor`."""

    n_features_in_: int
    esn_: ESN
    readout_: Readout
    ridge_: float
    statistics_: Statistics
    state_: Array
    rest_: Array
    last_target_: Array
    washout_: int
    direct_: int
    steps_seen_: npt.NDArray[np.int64]
    scaling_: Scaling
    target_scaling_: Scaling
    ridge_curve_: RidgeCurve | None
    fold_statistics_: list[Statistics]
    # What describes the network where none is given.
    _network_parameters: tuple[str, ...] = (
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
    squares, products = False, 0  # of states, which the readout sees too
    noise = 0.0  # on the states, while the readout is fitted

    def __init__(
        self,
        units: int | Sequence[int] = 100,
        structure: str = "single",
        leak_rate: float | Sequence[float] = 1.0,
        spectral_radius: float | Sequence[float] = 0.9,
        input_scaling: float | Sequence[float] = 0.1,
        bias_scaling: float | Sequence[float] = 0.5,
        coupling: float | Sequence[float] = 1.0,
        connections: int | Sequence[int | None] | None = None,
        topology: object = "normal",
        coupling_delay: int = 1,
        *,
        network: network.Network | None = None,
        washout: int | None = None,
        scale: str | None = "standard",
        ridge: float | Sequence[float] | str = "auto",
        validation: float | int = splits.FOLDS,
        direct: bool | int | None = None,
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
        self.scale = scale
        self.ridge = ridge
        self.validation = validation
        self.direct = direct
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    @all_or_nothing
    def set_params(self, **parameters: Any) -> ESNEstimator:
        """Set parameters by name; where one of them is unknown, none is set.

        Parameters
        ----------
        **parameters
            As of the constructor.

        Returns
        -------
        ESNEstimator
            Itself.
        """
        super().set_params(**parameters)
        return self

    def make_network(self) -> network.Network:
        """The network that the parameters describe.

        Returns
        -------
        Network
            Not built yet: `fit` draws its weights.
        """
        given = {name: getattr(self, name) for name in self._network_parameters}
        usual = type(self)()
        if self.network is not None:
            if not isinstance(self.network, network.Network):
                raise TypeError(f"network must be an echoscale Network, got {self.network!r}.")
            changed = [name for name, value in given.items() if not _same(value, getattr(usual, name))]
            if changed:
                raise ValueError(
                    f"network= is given, so {', '.join(changed)} would be ignored: "
                    "set them in the network, or leave network out."
                )
            return self.network
        structure = checks.choice(given.pop("structure"), STRUCTURES, "structure")
        sizes = given.pop("units")
        several = isinstance(sizes, Sequence | np.ndarray)
        if structure == "single" and several and len(sizes) != 1:
            raise ValueError(f"units={sizes!r} names {len(sizes)} levels: set structure to 'parallel' or 'hierarchical'.")
        sizes = list(sizes) if several else [sizes]
        if structure == "hierarchical":
            return network.hierarchical(sizes, **given)
        unused = {name: given.pop(name) for name in ("coupling", "coupling_delay")}
        changed = [name for name, value in unused.items() if not _same(value, getattr(usual, name))]
        if changed:
            raise ValueError(f"structure={structure!r} has no couplings, so {', '.join(changed)} would be ignored.")
        return network.parallel(sizes, **given)

    def _build(self, n_inputs: int, n_outputs: int | None = None) -> ESN:
        network = self.make_network()
        if network.feeds_back and "feedback_scaling" not in self._network_parameters:
            raise ValueError(f"this network has output feedback, which is for ESNRegressor and not for {type(self).__name__}.")
        return network.build(n_inputs, seed_of(self.random_state), self.dtype, self.device, n_outputs=n_outputs)

    def _check_parameters(self) -> Floats | None:
        """The penalties, as an array, or None for "auto"; the washout is that of the data."""
        if self.direct is not None and not isinstance(self.direct, bool | np.bool_):
            checks.integer(self.direct, "direct, as a number of inputs,")
        checks.choice(self.scale, (STANDARD, None), "scale")
        fit.check_validation(self.validation)
        washout_steps(self.washout)
        return penalties.check(self.ridge)

    def _washout(self, series: Series) -> int:
        """The steps of these series that do not count: as given, or by the shortest of them."""
        return washout_steps(self.washout, int(series.lengths.min()))

    def _steps(self, series: Series, targets: Series, outputs: Scaling, washout: int | None, **options: Any) -> Steps:
        """A network for these data; washout=None is that of a stream."""
        esn = self._build(series.features, targets.features)
        inputs = None if self.direct is None else int(self.direct)
        columns = Columns(inputs, bool(self.squares), int(self.products)).settled(series.lengths, esn.columns, washout)
        return Steps(esn, columns, scaling_of(self.scale, series), outputs, **options)

    def _fitted_steps(self, **options: Any) -> Steps:
        """The network of the last fit."""
        columns = Columns(self.direct_, bool(self.squares), int(self.products))
        return Steps(self.esn_, columns, self.scaling_, self.target_scaling_, **options)

    def _check_ready(self) -> None:
        if hasattr(self, "esn_") and not hasattr(self, "readout_"):
            raise NotFittedError(
                f"the {int(self.steps_seen_.max())} steps so far are all in the washout of {self.washout_}: there is no "
                "readout yet. Add more steps with partial_fit, or set a smaller washout."
            )
        check_is_fitted(self, "readout_")

    def _fit_steps(self, series: Series, targets: Series, outputs: Scaling, **options: Any) -> None:
        """Fit on targets step by step, all series from the zero state."""
        ridge, washout = self._check_parameters(), self._washout(series)
        check_longer_than(series, washout, "X")
        left = int((~np.isnan(counted(targets.values, washout)).any(axis=1)).sum())
        if left < 2:
            raise ValueError(
                f"X leaves {left} step with a target after washout={washout}: a readout needs at least 2 steps to be fitted to."
            )
        steps = self._steps(series, targets, outputs, washout, **options)
        found, state = steps.fitted(series, targets, washout, ridge, self.validation)
        # Only now: a fit that fails leaves the last one whole.
        self.__dict__.pop("fold_statistics_", None)
        self._keep_network(steps, washout)
        self._keep(found, steps)
        self.state_, self.steps_seen_, self.last_target_ = state, series.lengths, last_rows(targets)
        steps.check_states(found.statistics)

    def _add_steps(self, series: Series, targets: Series, outputs: Scaling, new_series: bool, **options: Any) -> None:
        """Add a chunk that continues the series of the last call (or begins new ones)."""
        ridge = self._check_parameters()
        if ridge is not None and len(ridge) > 1:
            raise ValueError(f"partial_fit needs one fixed ridge or 'auto', got {len(ridge)} penalties.")
        first = not hasattr(self, "esn_")
        # A stream's end is not known: the washout is that of a fit before, or 100 steps.
        washout = self.washout_ if self.washout is None and not first else washout_steps(self.washout)
        steps = self._steps(series, targets, outputs, None, **options) if first else self._fitted_steps(**options)
        begin = first or new_series
        if not begin and np.shape(self.state_)[:-1] != (() if series.kind == "one" else (series.count,)):
            raise ValueError(
                f"this chunk holds {series.count} series, the last one had {np.shape(self.state_)[:-1] or 1}; "
                "pass new_series=True to begin others."
            )
        seen = np.zeros(series.count, np.int64) if begin else self.steps_seen_
        edges = list(np.stack([np.clip(washout - seen, 0, series.lengths), series.lengths], axis=1))
        part, state = steps.added(series, targets, edges, None if begin else self.state_)
        if first:
            self._keep_network(steps, washout)
        self.washout_ = washout
        folds = getattr(self, "fold_statistics_", None)
        count = int(self.validation) if fit.by_folds(self.validation) else splits.FOLDS
        before, curve = (None, None) if first else (self.statistics_, self.ridge_curve_)
        found, folds = fit.fit_stream(before, part, folds, curve, ridge, count)
        if folds is not None:
            self.fold_statistics_ = list(folds)
        ready = hasattr(self, "readout_")
        self._keep(found, steps)
        if not ready and found.statistics.count > 1:
            steps.check_states(found.statistics)
        self.state_, self.steps_seen_, self.last_target_ = state, seen + series.lengths, last_rows(targets)

    def _keep_network(self, steps: Steps, washout: int) -> None:
        self.esn_, self.direct_, self.washout_ = steps.esn, int(steps.columns.inputs or 0), washout
        self.scaling_, self.target_scaling_ = steps.inputs, steps.outputs
        self.rest_ = steps.at_rest(self.scale == STANDARD)

    def _keep(self, found: Fitted, steps: Steps) -> None:
        """What was fitted, with the readout in units of the targets; no readout if all steps are in the washout."""
        self.statistics_, self.ridge_, self.ridge_curve_ = found.statistics, found.ridge, found.curve
        if found.statistics.count > 0:
            self.readout_ = steps.in_units_of_data(found.readout)

    def _outputs(self, series: Series, state: npt.ArrayLike | None, known: Series | None = None) -> tuple[Any, Array]:
        """Outputs of every step, (T, O), (B, T, O) or a list, and the state after them."""
        self._check_ready()
        return self._fitted_steps().predicted(self.readout_, series, self.rest_ if state is None else state, known)


def _same(value: object, default: object) -> bool:
    return value is default or (np.ndim(np.asarray(value)) == 0 and bool(value == default))
