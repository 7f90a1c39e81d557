"""`ESNClassifier`: one label per step, or one label per sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from echoscale import _checks
from echoscale.esn import ESN
from echoscale.estimators.base import ESNEstimator, counted, map_given, name_gaps, validation_parts
from echoscale.gram import of_rows
from echoscale.network import Network
from echoscale.readout import ridge as solve_ridge
from echoscale.series import Series, as_series, as_targets, check_longer_than

Array = npt.NDArray[Any]

FEATURES = ("last", "mean", "snapshots")


class ESNClassifier(ClassifierMixin, ESNEstimator):
    """The class with the largest output of a ridge readout that was fitted to one-hot targets.

    One label per step: X (T, F) with y (T,), X (B, T, F) with y (B, T), or lists of both.
    One label per sequence: X (B, T, F) or a list of (T_b, F), with y (B,). `features` says what a sequence is judged by: its
    "last" state, the "mean" of its states after the washout, or "snapshots" after every `every` steps side by side.

    State: `fit`, `predict` and `score` start every series from the zero state; `predict(X, state=...)` carries on, as in
    `ESNRegressor`. `partial_fit` with one label per step carries on from the chunk before; with one label per sequence every
    sequence starts from the zero state. All other parameters are those of `ESNRegressor`; with one label per sequence, the
    validation data that chooses among several penalties is every k-th sequence.

    Attributes
    ----------
    classes_, esn_, readout_, ridge_, statistics_, per_sequence_, n_features_in_; state_ with one label per step
    """

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
        topology: Any = "normal",
        coupling_delay: int = 1,
        *,
        features: str = "last",
        every: int | None = None,
        network: Network | None = None,
        washout: int = 0,
        ridge: float | Sequence[float] = 1e-5,
        validation: float | int = 0.2,
        fit_intercept: bool = True,
        direct: bool = False,
        dtype: str = "float32",
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            units,
            structure,
            leak_rate,
            spectral_radius,
            input_scaling,
            bias_scaling,
            coupling,
            connections,
            topology,
            coupling_delay,
            network=network,
            washout=washout,
            ridge=ridge,
            validation=validation,
            fit_intercept=fit_intercept,
            direct=direct,
            dtype=dtype,
            device=device,
            random_state=random_state,
        )
        self.features = features
        self.every = every

    def fit(self, X: Any, y: Any) -> ESNClassifier:
        """Run the network from the zero state and solve for the readout. Returns self."""
        series, labels = self._data(X, y, reset=True, least=2)
        self.classes_ = self._classes(labels)
        if self.per_sequence_:
            self._fit_sequences(series, np.asarray(labels))
        else:
            self._fit_steps(series, self._one_hot(labels, series))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, new_series: bool = False) -> ESNClassifier:
        """Add a chunk (one label per step: it continues the one before) or more sequences. The first call names all classes."""
        first = not hasattr(self, "esn_")
        series, labels = self._data(X, y, reset=first)
        if first:
            self.classes_ = self._classes(labels if classes is None else np.asarray(classes))
        if not self.per_sequence_:
            self._partial_fit_steps(series, self._one_hot(labels, series), new_series)
            return self
        _, penalties = self._check_parameters()
        if len(penalties) > 1:
            raise ValueError(
                f"partial_fit needs one fixed ridge, got {len(penalties)}: there is no validation data to choose by."
            )
        esn = self._build(series.features) if first else self.esn_
        part = of_rows(self._sequence_features(esn, series), self._codes(np.asarray(labels)))
        self.esn_ = esn
        self.statistics_ = part if first else self.statistics_ + part
        self.ridge_ = float(penalties[0])
        self.readout_ = solve_ridge(self.statistics_, self.ridge_, fit_intercept=bool(self.fit_intercept))
        return self

    def decision_function(self, X: Any, *, state: Any = None) -> Any:
        """The outputs, near 1 for the right class and 0 for the others; for two classes the difference, > 0 for classes_[1]."""
        check_is_fitted(self, "readout_")
        scores, _ = self._scores(self._series(X, reset=False), state)
        if len(self.classes_) > 2:
            return scores
        return map_given(lambda each: each[..., 1] - each[..., 0], scores)

    def predict(self, X: Any, *, state: Any = None, return_state: bool = False) -> Any:
        """Labels of every step (washout included), or of every sequence; from the zero state unless `state` is given."""
        check_is_fitted(self, "readout_")
        if return_state and self.per_sequence_:
            raise ValueError("return_state=True is for one label per step: every sequence is judged as a whole.")
        scores, last = self._scores(self._series(X, reset=False), state)
        labels = map_given(lambda each: self.classes_[np.argmax(each, axis=-1)], scores)
        return (labels, last) if return_state else labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the steps after the washout, or over the sequences."""
        check_is_fitted(self, "readout_")
        series, labels = self._data(X, y, reset=False)
        guess = self.predict(X)
        if self.per_sequence_:
            return float(accuracy_score(labels, guess, sample_weight=sample_weight))
        check_longer_than(series, self.washout, "X")
        if series.kind == "one":
            labels, guess, sample_weight = [labels], [guess], None if sample_weight is None else [sample_weight]
        weights = None if sample_weight is None else counted(sample_weight, self.washout)
        return float(accuracy_score(counted(labels, self.washout), counted(guess, self.washout), sample_weight=weights))

    def _data(self, X: Any, y: Any, reset: bool, least: int = 1) -> tuple[Series, Any]:
        """Checked series and labels: (T,) for one series, (B,) per sequence, otherwise (T_b,) for every series."""
        if not self._many(X):
            name_gaps(y)
            X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, ensure_min_samples=least, ensure_all_finite=False)
            check_classification_targets(y)
            series, labels, per_sequence = as_series(X, name="X"), y, False
        else:
            series = self._series(X, reset)
            labels = [np.asarray(each) for each in y]
            per_sequence = all(each.ndim == 0 for each in labels)
            if len(labels) != series.count:
                raise ValueError(
                    f"y holds {len(labels)} entries for {series.count} series: give one label or one row of labels each."
                )
            check_classification_targets(np.asarray(labels) if per_sequence else np.concatenate(labels))
            labels = np.asarray(labels) if per_sequence else labels
        if reset:
            self.per_sequence_ = per_sequence
        elif per_sequence != self.per_sequence_:
            kinds = {True: "one label per sequence", False: "one label per step"}
            raise ValueError(f"y gives {kinds[per_sequence]}, the model was fitted with {kinds[self.per_sequence_]}.")
        return series, labels

    def _check_parameters(self) -> tuple[int, npt.NDArray[np.float64]]:
        _checks.choice(self.features, FEATURES, "features")
        if self.every is not None:
            _checks.integer(self.every, "every", minimum=1)
        return super()._check_parameters()

    def _classes(self, labels: Any) -> Array:
        classes = np.unique(labels if isinstance(labels, np.ndarray) else np.concatenate(labels))
        if len(classes) < 2:
            raise ValueError(f"there is one class only, {classes.tolist()}: a classifier needs at least two.")
        return classes

    def _codes(self, labels: Array) -> Array:
        """One-hot rows, (rows, classes)."""
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(f"y holds {unknown.tolist()}, which are not among the classes {self.classes_.tolist()}.")
        codes: Array = (labels[:, None] == self.classes_).astype(np.float64)
        return codes

    def _one_hot(self, labels: Any, series: Series) -> Series:
        if series.kind == "one":
            return as_targets(self._codes(labels), series)
        return as_targets([self._codes(each) for each in labels], series)

    def _fit_sequences(self, series: Series, labels: Array) -> None:
        _, penalties = self._check_parameters()
        esn = self._build(series.features)
        features, codes = self._sequence_features(esn, series), self._codes(labels)
        parts, folds = validation_parts(self.validation)
        if len(penalties) == 1:
            groups, folds = [np.arange(len(codes))], False
        elif folds:
            groups = [np.arange(k, len(codes), parts) for k in range(parts)]
        else:
            held_out = np.arange(len(codes)) % max(round(1 / float(self.validation)), 2) == 0
            groups = [np.flatnonzero(~held_out), np.flatnonzero(held_out)]
        if not all(map(len, groups)):
            raise ValueError(f"validation={self.validation} leaves a part without any of the {len(codes)} sequences.")
        self.esn_ = esn
        self._fit_statistics([of_rows(features[rows], codes[rows]) for rows in groups], folds, penalties)

    def _scores(self, series: Series, state: Any) -> tuple[Any, Array | None]:
        if not self.per_sequence_:
            return self._outputs(series, state)
        if series.kind == "one":
            raise ValueError(
                "this model gives one label per sequence: pass (B, T, F) or a list of (T, F), for one sequence X[None]."
            )
        features = self._sequence_features(self.esn_, series, state)
        if features.shape[1] != self.statistics_.features:
            per_snapshot = self.esn_.units
            raise ValueError(
                f"sequences of {series.lengths[0]} steps give {features.shape[1] // per_snapshot} snapshots, those of the fit "
                f"gave {self.statistics_.features // per_snapshot}: they must be of the same length."
            )
        return self.readout_.predict(features), None

    def _sequence_features(self, esn: ESN, series: Series, state: Any = None) -> Array:
        """What every sequence is judged by, (B, features)."""
        if self.direct:
            raise ValueError("direct=True has no meaning with one label per sequence; leave it False.")
        if self.features == "last":
            return esn.run_chunks(series, state=state).astype(np.float64)
        if self.features == "snapshots":
            if self.every is None:
                raise ValueError("features='snapshots' needs every=M, the steps between two snapshots.")
            values = list(series.values) if series.kind == "list" else series.values
            return esn.snapshots(values, self.every, state=state).reshape(series.count, -1).astype(np.float64)
        check_longer_than(series, self.washout, "X")
        sums = np.zeros((series.count, esn.units))

        def add(lanes: Any, start: int, states: Any) -> None:
            rows = np.asarray(states)
            times = start + np.arange(rows.shape[1])
            live = (times >= self.washout) & (times < series.lengths[lanes][:, None])
            sums[lanes] += np.einsum("btn,bt->bn", rows, live, dtype=np.float64)

        esn.run_chunks(series, add, state=state)
        return sums / (series.lengths - self.washout)[:, None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
