"""What the estimators with a network share: flat parameters to a network, the washout, the ridge fit, the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from echoscale import network
from echoscale._internal import checks
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array, Floats, Indices
from echoscale.data.scaling import STANDARD, Scaling, scaling_of
from echoscale.data.series import Series, check_longer_than, washout_steps
from echoscale.engine.esn import ESN
from echoscale.estimators._validation import RandomState, as_given, counted, last_rows, seed_of
from echoscale.readouts import columns, fitting, penalties, splits
from echoscale.readouts.columns import Pairs, pairs_of, width_of, with_products
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.ridge import Readout
from echoscale.readouts.ridge import ridge as solve_ridge
from echoscale.readouts.states import at_rest, check_states, state_rows
from echoscale.readouts.statistics import Statistics, split_statistics, with_noise

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


STRUCTURES = ("single", "parallel", "hierarchical")
# With direct=None: the last inputs that the readout sees, and the least steps for each column of them; else they are fewer.
RECENT, STEPS_PER_INPUT = 13, 5


class ESNEstimator(BaseEstimator):
    """Flat parameters, so that clone, GridSearchCV and set_params reach every one of them; see `ESNRegressor`."""

    n_features_in_: int
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
        fitting.check_validation(self.validation)
        washout_steps(self.washout)
        return penalties.check(self.ridge)

    def _washout(self, series: Series) -> int:
        """The steps of these series that do not count: as given, or by the shortest of them."""
        return washout_steps(self.washout, int(series.lengths.min()))

    def _direct(self, series: Series, washout: int | None = None) -> int:
        """The inputs that the readout sees: as given, or by the steps that count (None: of a stream, whose end is open)."""
        if self.direct is not None:
            return int(self.direct)
        if washout is None:
            return RECENT
        steps = int((series.lengths - washout).sum())
        return max(min(RECENT, steps // (STEPS_PER_INPUT * series.features)), 1)

    def _pairs(self, esn: ESN) -> Pairs | None:
        """The products of states that the readout sees."""
        return pairs_of(esn.units, bool(self.squares), int(self.products), esn.seed)

    def _check_ready(self) -> None:
        if hasattr(self, "esn_") and not hasattr(self, "readout_"):
            raise NotFittedError(
                f"the {int(self.steps_seen_.max())} steps so far are all in the washout of {self.washout_}: there is no "
                "readout yet. Add more steps with partial_fit, or set a smaller washout."
            )
        check_is_fitted(self, "readout_")

    def _scaling_of_targets(self, targets: Series) -> Scaling:
        """Those of a regressor are scaled like its inputs; one-hot codes are not."""
        return Scaling.none(targets.features)

    def _heard(self, esn: ESN, scaled: Series, targets: Series, begin: bool = True) -> Series:
        """What the network hears: the inputs; of a regressor with output feedback, the targets of the step before too."""
        return scaled

    def _fitted_to(self, heard: Series, wanted: Series, inputs: Scaling, outputs: Scaling, direct: int) -> Series:
        """What the readout is fitted to, in units of the network: the targets, or of a regressor their changes."""
        return wanted

    def _finished(self, readout: Readout, outputs: Scaling) -> Readout:
        """From what the readout was fitted to, in units of the network, to targets in units of the data."""
        return fitting.in_units_of(readout, outputs)

    def _keep(self, solved: fitting.Solved, outputs: Scaling) -> None:
        """What was fitted, with the readout in units of the targets."""
        self.statistics_, self.ridge_, self.ridge_curve_ = solved.statistics, solved.ridge, solved.curve
        self.target_scaling_ = outputs
        self.readout_ = self._finished(solved.readout, outputs)

    def _check_states(self, states: int) -> None:
        """Warn where the first columns of the statistics are states of no use."""
        found = self.statistics_
        squares = np.diagonal(found.scatter)[:states] / found.count - self.noise**2  # the noise is not theirs
        check_states(found.mean[:states], squares, self.esn_)

    def _fit_steps(self, series: Series, targets: Series) -> None:
        """Fit on targets step by step, all series from the zero state."""
        chosen_from, washout = self._check_parameters(), self._washout(series)
        check_longer_than(series, washout, "X")
        known = [~np.isnan(each[washout:]).any(axis=1) for each in targets.values]
        left = int(sum(each.sum() for each in known))
        if left < 2:
            raise ValueError(
                f"X leaves {left} step with a target after washout={washout}: a readout needs at least 2 steps to be fitted to."
            )
        inputs, outputs = scaling_of(self.scale, series), self._scaling_of_targets(targets)
        scaled, wanted = inputs.apply(series), outputs.apply(targets)
        edges = fitting.segments(self.validation, series.lengths, washout, chosen_from is None or len(chosen_from) > 1)
        esn = self._build(series.features, targets.features)
        heard = self._heard(esn, scaled, wanted)
        direct = self._direct(heard, washout)
        fitted = self._fitted_to(heard, wanted, inputs, outputs, direct)
        pairs = self._pairs(esn)
        parts, last = split_statistics(esn, heard, fitted, edges, direct=direct, pairs=pairs)
        parts = [with_noise(each, self.noise**2, esn.units) for each in parts] if self.noise else parts

        def rows() -> tuple[Array, Array, list[Indices]]:
            features, _ = state_rows(esn, heard, washout, direct, np.float64, pairs=pairs)
            there = np.concatenate(known)
            groups = [each[there[each]] for each in splits.rows(edges)]
            return features, counted(fitted.values, washout), groups

        # Noise bounds the Gram matrix from below: what rounding might lose is lost in noise anyway.
        solved = fitting.solve(chosen_from, parts, None if self.noise else rows, self.validation)
        # Only now: a fit that fails leaves the last one whole.
        self.esn_, self.washout_, self.direct_, self.scaling_ = esn, washout, direct, inputs
        self.__dict__.pop("fold_statistics_", None)
        self._keep(solved, outputs)
        self._remember(heard, targets, last)
        self._check_states(esn.units)

    def _partial_fit_steps(self, series: Series, targets: Series, new_series: bool) -> None:
        """Add a chunk that continues the series of the last call (or begins new ones)."""
        chosen_from = self._check_stream()
        first = not hasattr(self, "esn_")
        # A stream's end is not known: the washout is that of a fit before, or 100 steps.
        washout = self.washout_ if self.washout is None and not first else washout_steps(self.washout)
        inputs = scaling_of(self.scale, series) if first else self.scaling_
        outputs = self._scaling_of_targets(targets) if first else self.target_scaling_
        esn = self._build(series.features, targets.features) if first else self.esn_
        begin = first or new_series
        seen = np.zeros(series.count, np.int64) if begin else self.steps_seen_
        if not begin and np.shape(self.state_)[:-1] != (() if series.kind == "one" else (series.count,)):
            raise ValueError(
                f"this chunk holds {series.count} series, the last one had {np.shape(self.state_)[:-1] or 1}; "
                "pass new_series=True to begin others."
            )
        starts = np.clip(washout - seen, 0, series.lengths)
        edges = list(np.stack([starts, series.lengths], axis=1))
        direct = self._direct(series) if first else self.direct_
        scaled, wanted = inputs.apply(series), outputs.apply(targets)
        heard = self._heard(esn, scaled, wanted, begin)
        fitted = self._fitted_to(heard, wanted, inputs, outputs, direct)
        state, before = (None, None) if begin else self._split_state(self.state_, heard, esn)
        [part], last = split_statistics(
            esn, heard, fitted, edges, direct=direct, state=state, before=before, pairs=self._pairs(esn)
        )
        part = with_noise(part, self.noise**2, esn.units) if self.noise else part
        self.esn_, self.washout_, self.direct_, self.scaling_, self.target_scaling_ = esn, washout, direct, inputs, outputs
        # Blocks of a stream are whole chunks: each goes to the fold that holds the fewest steps.
        self._add({None: part}, chosen_from, first, esn.units)
        self._remember(heard, targets, last, before)
        self.steps_seen_ = seen + series.lengths

    def _check_stream(self) -> Floats | None:
        """The penalties of `partial_fit`: one, or None for "auto"."""
        chosen_from = self._check_parameters()
        if chosen_from is not None and len(chosen_from) > 1:
            raise ValueError(f"partial_fit needs one fixed ridge or 'auto', got {len(chosen_from)} penalties.")
        return chosen_from

    @property
    def _stream_folds(self) -> int:
        return int(self.validation) if fitting.by_folds(self.validation) else splits.FOLDS

    def _add(self, parts: Mapping[int | None, Statistics], chosen_from: Floats | None, first: bool, states: int) -> None:
        """Add statistics of pieces, fold -> piece (None: the fold that holds the fewest rows), and solve anew."""
        new = splits.total(list(parts.values()))
        whole = new if first else self.statistics_ + new
        curve = None
        if chosen_from is not None:
            ridge = float(chosen_from[0])
        elif not first and not hasattr(self, "fold_statistics_"):  # after a fit: its choice stays
            before = self.ridge_curve_
            relative = penalties.UNCHOSEN if before is None else max(before.relative[before.place], penalties.RELATIVE[0])
            ridge, curve = float(relative * penalties.unit_of(whole)), before
        else:
            empty = Statistics(0 * new.count, 0 * new.mean, 0 * new.scatter, new.features)
            held = [empty] * self._stream_folds if first else list(self.fold_statistics_)
            for fold, part in parts.items():
                place = int(np.argmin([float(each.count) for each in held])) if fold is None else fold
                held[place] = held[place] + part
            self.fold_statistics_ = held
            pairs = splits.leave_one_out(held) if sum(float(each.count) > 0 for each in held) > 1 else []
            ridge, curve = penalties.decide(None, pairs, whole)
        ready = hasattr(self, "readout_")
        self.statistics_, self.ridge_, self.ridge_curve_ = whole, ridge, curve
        if whole.count > 0:
            self.readout_ = self._finished(solve_ridge(whole, ridge), self.target_scaling_)
            if not ready and whole.count > 1:
                self._check_states(states)

    def _split_state(self, state: npt.ArrayLike | None, series: Series, esn: ESN) -> tuple[Any, Array | None]:
        """States of the network, and the recent inputs (B, (direct - 1) F) that are part of the state where direct > 1."""
        extra = (self.direct_ - 1) * series.features
        if state is None or extra <= 0:
            return state, None
        given = np.asarray(state)
        wanted = (esn.units + extra,) if series.kind == "one" else (series.count, esn.units + extra)
        if given.shape not in (wanted, wanted[-1:]):
            raise ValueError(
                f"state must have shape {wanted}, got {given.shape}: {esn.units} states, then {self.direct_ - 1} recent "
                f"inputs, since direct={self.direct_}."
            )
        if not np.isfinite(given).all():
            raise ValueError("state must be finite: give one that fit or predict made.")
        return given[..., : esn.units], np.broadcast_to(given[..., esn.units :], (series.count, extra))

    def _joined_state(self, last: Array, series: Series, before: Array | None) -> Array:
        """What `_split_state` takes apart: the last states, then the recent inputs, newest first."""
        direct = self.direct_
        if direct <= 1:
            return last
        past = [None] * series.count if before is None else list(before)
        inputs = [columns.carried(u, direct, first) for u, first in zip(series.values, past, strict=True)]
        return np.concatenate([last, inputs[0] if series.kind == "one" else np.stack(inputs)], axis=-1)

    def _remember(self, scaled: Series, targets: Series, last: Array, before: Array | None = None) -> None:
        """What continues from here: the last states, and the last targets for a forecast that begins after them."""
        self.state_ = self._joined_state(last, scaled, before)
        self.steps_seen_ = scaled.lengths
        self.last_target_ = last_rows(targets)

    @property
    def rest(self) -> Array:
        """Where a series begins whose past is not known, (S,), of a model with an output at every step.

        The state after a long time at the mean inputs. It is the zero state without biases, with scale=None (the mean is not
        known), with output feedback, and where a linear level would grow without bound.
        """
        self._check_ready()
        esn = self.esn_
        found = at_rest(esn) if self.scale == STANDARD and not esn.n_outputs else None
        states = np.zeros(esn.units, esn.dtype) if found is None else found
        more = max(self.direct_ - 1, 0) * esn.columns + esn.n_outputs  # recent inputs, and the last outputs that are fed back
        return np.concatenate([states, np.zeros(more, states.dtype)])

    def _outputs(self, series: Series, state: npt.ArrayLike | None) -> tuple[Any, Array]:
        """Readout of every step, (T, O), (B, T, O) or a list, and the last states. No state is kept."""
        self._check_ready()
        readout, pairs, direct = self.readout_, self._pairs(self.esn_), self.direct_
        width = width_of(self.esn_.units, pairs)
        scaled = self.scaling_.apply(series)
        start, before = self._split_state(state, series, self.esn_)
        if state is None:
            start = self.rest[: self.esn_.units]
        past = [None] * series.count if before is None else list(before)
        outputs = [np.empty((int(length), len(readout.intercept))) for length in series.lengths]
        inputs = [columns.windows(u, direct, first) for u, first in zip(scaled.values, past, strict=True)] if direct else []

        def consume(lanes: Any, begin: int, states: Any) -> None:
            rows = np.asarray(states)
            for place, b in enumerate(lanes):
                out = outputs[b][begin : begin + len(rows)]
                seen = rows[: len(out), place].astype(np.float64)
                seen = seen if pairs is None else with_products(seen, pairs)
                out[:] = seen @ readout.coef[:, :width].T + readout.intercept
                if direct:
                    out += inputs[b][begin : begin + len(out)] @ readout.coef[:, width:].T

        last = self.esn_.run_chunks(scaled, consume, state=start)
        return as_given(outputs, series), self._joined_state(last, scaled, before)


def _same(value: object, default: object) -> bool:
    return value is default or (np.ndim(np.asarray(value)) == 0 and bool(value == default))
