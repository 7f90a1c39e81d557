"""`ESNClassifier`: one label per step, or one label per sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from echoscale import _checks
from echoscale.esn import ESN
from echoscale.estimators import fitting, minibatches
from echoscale.estimators.base import ESNEstimator, as_table, counted, map_given, name_gaps
from echoscale.estimators.seed import RandomState
from echoscale.estimators.sequence_features import FEATURES, sequence_features
from echoscale.estimators.state_warnings import check_states
from echoscale.network import Network
from echoscale.readouts import folds, logistic
from echoscale.readouts.state_rows import state_rows
from echoscale.readouts.statistics import Statistics, of_rows
from echoscale.scaling import Scaling, scaling_of
from echoscale.series import Series, SeriesLike, as_series, as_targets, check_longer_than, refuse_masked
from echoscale.undo import all_or_nothing

if TYPE_CHECKING:
    from echoscale.engine.machine import DeviceLike

Array = npt.NDArray[Any]

Floats = npt.NDArray[np.float64]

READOUTS = ("ridge", *logistic.OF_CLASSES)


def _has_probabilities(model: ESNClassifier) -> bool:
    if model.readout not in logistic.OF_CLASSES:
        raise AttributeError(f"readout={model.readout!r} has no probabilities: choose 'softmax' or 'sigmoid'.")
    return True


def _adds_up(model: ESNClassifier) -> bool:
    if model.readout in logistic.OF_CLASSES:
        raise AttributeError(
            f"partial_fit adds up the statistics of a ridge readout; readout={model.readout!r} is trained on all data at once: "
            "use fit. For streams, see echoscale.OnlineLearner."
        )
    return True


class ESNClassifier(ClassifierMixin, ESNEstimator):
    """z = W_out x + b; the class is the largest z. One label per step, or one per sequence.

    "ridge"    least squares on one-hot targets, solved at once and with flat memory; the only one with `partial_fit`
    "softmax"  least cross-entropy of softmax(z) and the class, trained by minibatches (`echoscale.readouts.logistic`)
    "sigmoid"  likewise with every class by itself, sigmoid(z), as in the paper

    The last two have `predict_proba`. They keep what they are trained on: the features of all sequences, or all states after
    the washout. They see standardised features; the penalty stands beside the summed loss, sum of E + ridge/2 |W|^2.

    One label per step: X (T, F) with y (T,), X (B, T, F) with y (B, T), or lists of both.
    One label per sequence: X (B, T, F) or a list of (T_b, F), with y (B,).

    State: `fit`, `predict` and `score` start every series from the zero state; `predict(X, state=...)` carries on, as in
    `ESNRegressor`. `partial_fit` with one label per step carries on from the chunk before; with one label per sequence every
    sequence starts from the zero state.

    Parameters
    ----------
    units : int or tuple of int
        Neurons, of every level.
    structure : "single", "parallel" or "hierarchical"
        How the levels are joined. Two levels: units=(50, 50), structure="hierarchical".
    leak_rate : float or tuple
        alpha in (0, 1] of all levels, or of each; 1 forgets at once.
    spectral_radius : float or tuple
        Of the recurrent weights.
    input_scaling : float or tuple
        Of the input weights. In a hierarchy, one number is that of the first level; the others have 0.
    bias_scaling : float or tuple
        Of the biases; 0 is none.
    coupling : float or tuple
        Strength of the links of a hierarchy.
    connections : int, tuple or None
        Non-zero weights in each row; None: 10, or all where there are fewer units.
    topology : str, Concentric or (units, units) matrix
        "normal", "uniform", "delay_line", "ring", "concentric", or weights of your own.
    coupling_delay : 0 or 1
        Steps that a link takes.
    features : "last", "mean" or "snapshots"
        What a sequence is judged by: its last state, the mean of its states after the washout, or the states after every
        `every` steps side by side.
    every : int or None
        Steps between two snapshots.
    readout : "ridge", "softmax" or "sigmoid"
        How z is found, see above.
    epochs : int
        Of a trained readout: how often every row is seen.
    rate : float
        Of a trained readout: the first step of Adam, which falls to 0 along a cosine.
    minibatch : int
        Of a trained readout: rows of a step, or all where there are fewer.
    network : Network or None
        Any network, in place of all the parameters above.
    washout : int or None
        Steps at the start of every series that `fit` and `score`, and the "mean" of a sequence, do not count. None: 100, or a
        tenth of the shortest series where that is less. `partial_fit` does not know the end of its series: None is then the
        washout of a `fit` before it, or 100 (of sequences: by those of the first call). With a number, chunks equal one fit of
        the whole.
    scale : "standard" or None
        "standard": the network sees inputs of mean 0 and standard deviation 1, over all data of `fit`, or over the first
        chunk of `partial_fit`; results are in units of the data. A column that is constant there becomes 0. None: the network
        sees the data as they are.
    ridge : "auto", float or list of floats
        The penalty on the readout's weights. "auto": from a path of 1e-12 to 1e4 times the mean squared singular value of the
        states, the best on held-out folds; a list: the best of it. Where the smallest of the path is among the best, it goes on
        down to 0 with an exact solution that needs the states of all steps at once (up to 512 MiB). With too little data for
        two folds of four steps or sequences, "auto" is 1e-4 times that mean square. A
        trained readout has 1e-5, which folds would train many times over. In `partial_fit`, every chunk (or sequence)
        is a block, dealt out to the folds in turn, and "auto" chooses anew at every call; before there are two folds it is 1e-4
        times the mean square, and after a `fit` the relative penalty of that fit stays.
    validation : int or float
        What a penalty is chosen by: a number of folds, which are blocks of time with a gap of a twentieth of a fold between
        them (whole series where there are as many series as folds; fewer folds where data are short), or the share of a
        validation tail. With one label per sequence: folds of whole sequences, with every class in each as far as can be, or
        every k-th sequence.
    fit_intercept : bool
        Whether the readout has an intercept, which is not penalised.
    direct : bool or int
        How many of the last inputs u(t), u(t-1), ... the readout sees beside the states; True is 1. Those before the start of a
        series are 0, in units of the network. For one label per step.
    dtype : "float32" or "float64"
        Precision of the network.
    device : None, "cpu", "gpu" or a jax.Device
        Where it runs; None: JAX's choice.
    random_state : int, numpy.random.RandomState or None
        Seed of the weights and of the order of minibatches; None: fresh entropy.

    Attributes
    ----------
    classes_ : (O,) array
        The labels, sorted.
    esn_ : ESN
        The network with its weights.
    readout_ : Readout
        W_out and b (O,).
    ridge_ : float
        The penalty, as given or as chosen.
    ridge_curve_ : RidgeCurve or None
        The error of the held-out folds against the penalty, with `plot()` and `table()`; None where nothing was chosen.
    scaling_ : Scaling
        `mean` and `spread` of every input.
    washout_ : int
        The steps that the last fit did not count.
    per_sequence_ : bool
        Whether there is one label per sequence.
    state_ : (N,) or (B, N) array
        With one label per step: the states after the last step that was fitted, and with direct > 1 the last inputs, as in
        `ESNRegressor`.
    statistics_ : Statistics
        Of a ridge readout; `partial_fit` adds to them.
    history_ : TrainingHistory
        Of a trained readout (not saved to files).
    n_features_in_ : int
        F.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["slow", "fast"], 20)
    >>> step = np.where(labels == "slow", 0.2, 0.6)[:, None]
    >>> X = np.sin(step * np.arange(50) + rng.uniform(0, 6, (40, 1)))[..., None]
    >>> model = es.ESNClassifier(units=30, bias_scaling=0.5, features="mean", random_state=0).fit(X, labels)
    >>> model.classes_, model.washout_, model.score(X, labels)
    (array(['fast', 'slow'], dtype='<U4'), 5, 1.0)
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
        topology: object = "normal",
        coupling_delay: int = 1,
        *,
        features: str = "last",
        every: int | None = None,
        readout: str = "ridge",
        epochs: int = 30,
        rate: float = 1e-3,
        minibatch: int = 50,
        network: Network | None = None,
        washout: int | None = None,
        scale: str | None = "standard",
        ridge: float | Sequence[float] | str = "auto",
        validation: float | int = folds.FOLDS,
        fit_intercept: bool = True,
        direct: bool | int = False,
        dtype: str = "float32",
        device: DeviceLike = None,
        random_state: RandomState = None,
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
            scale=scale,
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
        self.readout = readout
        self.epochs = epochs
        self.rate = rate
        self.minibatch = minibatch

    @all_or_nothing
    def fit(self, X: SeriesLike, y: SeriesLike) -> ESNClassifier:
        """Run the network from the zero state and solve for the readout, or train it.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        y : (T,), (B, T) or list of (T_b,); or (B,)
            Labels of every step, or of every sequence.

        Returns
        -------
        ESNClassifier
            Itself.
        """
        series, labels = self._data(X, y, reset=True, least=2)
        self.classes_ = self._classes(labels)
        solved = _checks.choice(self.readout, READOUTS, "readout") == "ridge"
        if self.per_sequence_:
            self._fit_sequences(series, np.asarray(labels))
        elif solved:
            self._fit_steps(series, self._one_hot(labels, series))
        else:
            self._train_steps(series, self._one_hot(labels, series))
        for name in ("history_",) if solved else ("statistics_", "fold_statistics_"):
            self.__dict__.pop(name, None)  # of a readout of the other kind, fitted before
        return self

    @available_if(_adds_up)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(
        self, X: SeriesLike, y: SeriesLike, classes: npt.ArrayLike | None = None, *, new_series: bool = False
    ) -> ESNClassifier:
        """Add a chunk (one label per step: it continues the one before) or more sequences. For readout="ridge".

        The first call sets the scaling of the inputs.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        y : (T,), (B, T) or list of (T_b,); or (B,)
            Labels of every step, or of every sequence.
        classes : list of labels, or None
            All classes there are, for the first call; None: those in y.
        new_series : bool
            With one label per step: begin from the zero state, and wash out again, keeping all that was learned.

        Returns
        -------
        ESNClassifier
            Itself.
        """
        _checks.choice(self.readout, READOUTS, "readout")
        first = not hasattr(self, "esn_")
        if not first and not hasattr(self, "statistics_"):
            raise ValueError("this model was trained by minibatches, which leaves no statistics to add to: fit it anew.")
        series, labels = self._data(X, y, reset=first)
        if first:
            self.classes_ = self._classes(labels if classes is None else np.asarray(classes))
        if not self.per_sequence_:
            self._partial_fit_steps(series, self._one_hot(labels, series), new_series)
            return self
        chosen_from = self._check_stream()
        inputs = scaling_of(self.scale, series) if first else self.scaling_
        esn = self._build(series.features) if first else self.esn_
        washout = self.washout_ if self.washout is None and not first else self._washout(series)
        features, codes = self._sequence_features(esn, inputs.apply(series), washout), self._codes(np.asarray(labels))
        fold = folds.of_sequences(codes.argmax(axis=1), self._stream_folds, 0 if first else int(self.statistics_.count))
        self.esn_, self.washout_, self.scaling_, self.target_scaling_ = esn, washout, inputs, Scaling.none(codes.shape[1])
        parts: dict[int | None, Statistics] = {
            k: of_rows(features[fold == k], codes[fold == k]) for k in np.unique(fold).tolist()
        }
        self._add(parts, chosen_from, first, features.shape[1])
        return self

    def decision_function(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """z = W_out x + b; for two classes the difference of both, > 0 for classes_[1].

        With "ridge", z is near 1 for the right class and 0 for the others; with "sigmoid" and "softmax", above 0 and below.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: zero.

        Returns
        -------
        (T, O), (B, T, O) or list; with one label per sequence (B, O)
            z, without the last axis for two classes.
        """
        self._check_ready()
        scores, _ = self._scores(self._series(X, reset=False), state)
        if len(self.classes_) > 2:
            return scores
        return map_given(lambda each: each[..., 1] - each[..., 0], scores)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """softmax(z), or sigmoid(z) over its sum: probabilities of the classes. For readout="softmax" and "sigmoid".

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: zero.

        Returns
        -------
        (T, O), (B, T, O) or list; with one label per sequence (B, O)
            They add up to 1 over the last axis.
        """
        self._check_ready()
        scores, _ = self._scores(self._series(X, reset=False), state)
        return map_given(lambda each: logistic.probabilities(self.readout, each), scores)

    def predict(self, X: SeriesLike, *, state: npt.ArrayLike | None = None, return_state: bool = False) -> Any:
        """The class with the largest z, of every step (washout included) or of every sequence.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: zero.
        return_state : bool
            With one label per step: also return the last states, for the next piece.

        Returns
        -------
        (T,), (B, T) or list of (T_b,); with one label per sequence (B,)
            Labels; with `return_state`, also the states.
        """
        self._check_ready()
        if return_state and self.per_sequence_:
            raise ValueError("return_state=True is for one label per step: every sequence is judged as a whole.")
        scores, last = self._scores(self._series(X, reset=False), state)
        labels = map_given(lambda each: self.classes_[np.argmax(each, axis=-1)], scores)
        return (labels, last) if return_state else labels

    def score(self, X: SeriesLike, y: SeriesLike, sample_weight: SeriesLike | None = None) -> float:
        """The share of right labels, over the steps after the washout or over the sequences.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`
            Labels.
        sample_weight : as y, or None
            How much each label counts; None: all alike.

        Returns
        -------
        float
            Accuracy. The default washout is that of these series.
        """
        self._check_ready()
        series, labels = self._data(X, y, reset=False)
        guess = self.predict(X)
        if self.per_sequence_:
            return float(accuracy_score(labels, guess, sample_weight=sample_weight))
        washout, weights = self._washout(series), cast(Any, sample_weight)
        check_longer_than(series, washout, "X")
        if series.kind == "one":
            labels, guess, weights = [labels], [guess], None if weights is None else [weights]
        counts = None if weights is None else counted(weights, washout)
        return float(accuracy_score(counted(labels, washout), counted(guess, washout), sample_weight=counts))

    def _data(self, X: SeriesLike, y: Any, reset: bool, least: int = 1) -> tuple[Series, Any]:
        """Checked series and labels: (T,) for one series, (B,) per sequence, otherwise (T_b,) for every series."""
        if not self._many(X):
            name_gaps(X, y)
            X, y = validate_data(
                self, as_table(X), y, reset=reset, dtype=np.float64, ensure_min_samples=least, ensure_all_finite=False
            )
            check_classification_targets(y)
            series, labels, per_sequence = as_series(X, name="X"), y, False
        else:
            series = self._series(X, reset)
            refuse_masked(y, "y")
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

    def _check_parameters(self) -> Floats | None:
        _checks.choice(self.features, FEATURES, "features")
        if self.every is not None:
            _checks.integer(self.every, "every", minimum=1)
        _checks.integer(self.minibatch, "minibatch", minimum=1)
        return super()._check_parameters()

    def _classes(self, labels: Array | Sequence[Array]) -> Array:
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

    def _one_hot(self, labels: Array | Sequence[Array], series: Series) -> Series:
        if series.kind == "one":
            return as_targets(self._codes(np.asarray(labels)), series)
        return as_targets([self._codes(each) for each in labels], series)

    def _fit_sequences(self, series: Series, labels: Array) -> None:
        chosen_from, washout = self._check_parameters(), self._washout(series)
        inputs = scaling_of(self.scale, series)
        esn = self._build(series.features)
        features, codes = self._sequence_features(esn, inputs.apply(series), washout), self._codes(labels)
        groups = self._groups(codes.argmax(axis=1), chosen_from is None or len(chosen_from) > 1)
        if self.readout == "ridge":
            parts = [of_rows(features[rows], codes[rows]) for rows in groups]
            solved = fitting.solve(
                chosen_from,
                parts,
                lambda: (features, codes, groups),
                self.validation,
                fit_intercept=bool(self.fit_intercept),
                gaps=False,
            )
            self.esn_ = esn
            self.__dict__.pop("fold_statistics_", None)
            self._keep(solved, Scaling.none(codes.shape[1]))
            self._check_states(features.shape[1])
        else:
            self._train(esn, features, codes.argmax(axis=1), groups, chosen_from)
        self.washout_, self.scaling_ = washout, inputs

    def _groups(self, classes: Array, several: bool) -> list[Array]:
        """The sequences of every fold; or of training and validation; or all together."""
        count = len(classes)
        if several and fitting.by_folds(self.validation) and count >= folds.FEWEST:
            fold = folds.of_sequences(classes, min(int(self.validation), count))
            return [np.flatnonzero(fold == k) for k in range(fold.max() + 1)]
        if several and not fitting.by_folds(self.validation):
            held_out = np.arange(count) % max(round(1 / float(self.validation)), 2) == 0
            return [np.flatnonzero(~held_out), np.flatnonzero(held_out)]
        return [np.arange(count)]

    def _train_steps(self, series: Series, targets: Series) -> None:
        """All states after the washout are rows to train on, in the order of the series."""
        chosen_from, washout = self._check_parameters(), self._washout(series)
        check_longer_than(series, washout, "X")
        left = int((series.lengths - washout).sum())
        if left < 2:
            raise ValueError(f"X leaves {left} step after washout={washout}: a readout needs at least 2 steps to be fitted to.")
        inputs = scaling_of(self.scale, series)
        scaled = inputs.apply(series)
        esn = self._build(series.features)
        direct = self._direct(series, washout)
        rows, last = state_rows(esn, scaled, washout, direct)
        edges = fitting.segments(self.validation, series.lengths, washout, chosen_from is not None and len(chosen_from) > 1)
        groups = folds.rows(edges)[::2]  # without the gaps
        self._train(esn, rows, counted(targets.values, washout).argmax(axis=1), groups, chosen_from)
        self.washout_, self.direct_, self.scaling_ = washout, direct, inputs
        self._remember(scaled, targets, last)

    def _train(self, esn: ESN, rows: Array, labels: Array, groups: list[Array], chosen_from: Floats | None) -> None:
        found, ridge = minibatches.train(
            rows,
            labels,
            groups if fitting.by_folds(self.validation) else groups[-1:],
            chosen_from,
            inside=None if sum(map(len, groups)) == len(rows) else np.sort(np.concatenate(groups)),
            classes=len(self.classes_),
            loss=self.readout,
            rate=self.rate,
            epochs=self.epochs,
            minibatch=self.minibatch,
            fit_intercept=bool(self.fit_intercept),
            seed=esn.seed,
            dtype=esn.dtype,
            device=esn.device,
        )
        self.esn_, self.ridge_, self.ridge_curve_ = esn, ridge, None  # only now: a fit that fails leaves the last one whole
        self.target_scaling_ = Scaling.none(len(self.classes_))
        self.readout_, self.history_ = found.readout._replace(ridge=np.asarray(ridge)), found.history
        states = rows if self.per_sequence_ else rows[:, : esn.units]
        check_states(states.mean(axis=0, dtype=np.float64), states.var(axis=0, dtype=np.float64), esn.dtype)

    def _scores(self, series: Series, state: npt.ArrayLike | None) -> tuple[Any, Array | None]:
        if not self.per_sequence_:
            return self._outputs(series, state)
        if series.kind == "one":
            raise ValueError(
                "this model gives one label per sequence: pass (B, T, F) or a list of (T, F), for one sequence X[None]."
            )
        features = self._sequence_features(self.esn_, self.scaling_.apply(series), self.washout_, state)
        fitted = self.readout_.coef.shape[1]
        if features.shape[1] != fitted:
            per_snapshot = self.esn_.units
            raise ValueError(
                f"sequences of {series.lengths[0]} steps give {features.shape[1] // per_snapshot} snapshots, those of the fit "
                f"gave {fitted // per_snapshot}: they must be of the same length."
            )
        return self.readout_.predict(features), None

    def _sequence_features(self, esn: ESN, series: Series, washout: int, state: npt.ArrayLike | None = None) -> Array:
        """What every sequence is judged by, (B, features), from inputs in units of the network."""
        if self.direct:
            raise ValueError(f"direct={self.direct} has no meaning with one label per sequence; leave it False.")
        return sequence_features(esn, series, self.features, self.every, washout, state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
