"""`ESNStepClassifier`: one label per step."""

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

from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array, Floats
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, SeriesLike, as_series, as_targets, check_longer_than
from echoscale.estimators import _validation, class_labels
from echoscale.estimators._validation import RandomState, counted, last_rows
from echoscale.estimators.class_labels import classes_of, codes_of
from echoscale.estimators.features import SPECTRAL_RADIUS, UNITS
from echoscale.estimators.steps import StepEstimator, Steps
from echoscale.network import Network
from echoscale.readouts import fit, splits
from echoscale.readouts.classes import Minibatches, Sigmoid, Softmax, fit_classes, steepness_of_steps
from echoscale.readouts.columns import STATES, Columns
from echoscale.readouts.logistic import TrainingHistory
from echoscale.readouts.states import check_states, state_rows

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


class ESNStepClassifier(ClassifierMixin, StepEstimator):
    """Give every step of a series a label: the class with the largest output of a readout of the state.

        z(t) = W_out [x(t), columns(t)] + b

    X is one series (T, F) with y (T,), a batch (B, T, F) with y (B, T), or lists of both. For one label per sequence, see
    `ESNClassifier`.

    `fit` starts every series from the zero state, `predict` and `score` from rest; `predict(X, state=...)` carries on, as in
    `ESNRegressor`. `partial_fit` carries on from the chunk before.

    Parameters
    ----------
    units : int or tuple of int
        Number of neurons, of one reservoir or of each of several side by side.
    leak_rate : float, tuple or None
        alpha in (0, 1] of all reservoirs, or of each; 1 forgets at once. None: chosen by held-out error, as in `ESNRegressor`.
    spectral_radius : float or tuple
        Spectral radius of the recurrent matrices.
    input_scaling : float, tuple or None
        Scale of the input weights. None: chosen by held-out error, as in `ESNRegressor`.
    network : Network or None
        Any network, in place of the four parameters before.
    columns : Columns or None
        Inputs, squares and products of states that the readout sees beside the states, see `echoscale.readouts.Columns`.
        None: the states alone.
    readout : None, Softmax or Sigmoid
        How W_out is found. None: ridge regression on one-hot labels, solved at once, with `partial_fit`. Otherwise least
        cross-entropy, trained by minibatches, see `echoscale.readouts.Softmax` and `echoscale.readouts.Sigmoid`. A readout
        that is trained keeps all rows in memory.
    washout : int or None
        Steps at the start of every series that `fit` and `score` do not count. None: 100, or a tenth of the shortest series
        where that is less. `partial_fit` does not know the end of its series: None is then the washout of a `fit` before it, or
        100. With a number, chunks equal one fit of the whole.
    scale : "standard" or None
        "standard": the network receives inputs of mean 0 and standard deviation 1, over all data of `fit`, or over the first
        chunk of `partial_fit`. A column that is constant there becomes 0. None: the network receives the data as they are.
    ridge : "auto", float or list of floats
        Penalty on the readout's weights. "auto": from a path of 1e-12 to 1e4 times the mean squared singular value of the
        states, the largest whose error on held-out folds is within one per cent of the least; a list: the same for its
        penalties. Where the smallest of the path is among the best, it goes on down to 0 with an exact solution that needs all
        rows at once (up to 512 MiB). With too little data for two folds of four steps, "auto" is 1e-4 times that mean square. A
        trained readout has 1e-5, which folds would train many times. In `partial_fit`, every chunk is a block, dealt out to the
        folds in turn, and "auto" chooses again at every call; before there are two folds it is 1e-4 times the mean square, and
        after a `fit` the relative penalty of that fit stays.
    folds : int
        Number of folds that choose a penalty: blocks of time with a gap of a twentieth of a fold between them (whole series
        where there are as many series as folds; fewer folds where data are short).
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
    candidates_ : Candidates or None
        Leak rates, input scalings and held-out errors of the candidates, with `chosen`, `table` and `plot()`; None if nothing
        was chosen. In a stream, the first chunk chooses.
    readout_ : Readout
        W_out and b (O,), for states and columns that are not standardised.
    steepness_ : float
        beta in p = softmax(beta z), of `predict_proba`.
    ridge_ : float
        The penalty, as given or as chosen.
    ridge_curve_ : RidgeCurve or None
        The error of the held-out folds against the penalty, with `plot()` and `table()`; None where nothing was chosen.
    scaling_ : Scaling
        Mean and spread of every input.
    columns_ : Columns
        What the readout sees beside the states.
    washout_ : int
        The steps that the last fit did not count.
    state_ : (N,) or (B, N) array
        The states after the last step that was fitted, and with several inputs as columns the last inputs, as `ESNRegressor`
        has them.
    rest_ : array
        The state from which `predict` starts a series, laid out as `state_`.
    statistics_ : Statistics
        With ridge regression; `partial_fit` adds to them.
    history_ : TrainingHistory
        With a trained readout.
    n_features_in_ : int
        F.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> u = np.random.default_rng(0).normal(size=(1000, 1))
    >>> labels = np.where(np.roll(u[:, 0], 1) > np.roll(u[:, 0], 2), "rose", "fell")  # from two steps ago to the last step
    >>> model = es.ESNStepClassifier(units=100, random_state=0).fit(u[:800], labels[:800])
    >>> model.predict(u[800:], state=model.state_).shape, model.score(u[800:], labels[800:]) > 0.9
    ((200,), True)
    """

    classes_: Array
    steepness_: float
    history_: TrainingHistory

    def __init__(
        self,
        units: int | Sequence[int] = UNITS,
        leak_rate: float | Sequence[float] | None = None,
        spectral_radius: float | Sequence[float] = SPECTRAL_RADIUS,
        input_scaling: float | Sequence[float] | None = None,
        *,
        network: Network | None = None,
        columns: Columns | None = None,
        readout: Softmax | Sigmoid | None = None,
        washout: int | None = None,
        scale: str | None = "standard",
        ridge: float | Sequence[float] | str = "auto",
        folds: int = splits.FOLDS,
        dtype: str = "float32",
        device: DeviceLike = None,
        random_state: RandomState = None,
    ) -> None:
        self.units = units
        self.leak_rate = leak_rate
        self.spectral_radius = spectral_radius
        self.input_scaling = input_scaling
        self.network = network
        self.columns = columns
        self.readout = readout
        self.washout = washout
        self.scale = scale
        self.ridge = ridge
        self.folds = folds
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: SeriesLike, y: SeriesLike) -> ESNStepClassifier:
        """Run the network from the zero state and solve for the readout, or train it.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs; a single input needs no axis of its own.
        y : (T,), (B, T) or list of (T_b,)
            Label of every step.

        Returns
        -------
        ESNStepClassifier
            Itself.
        """
        series, labels = self._data(X, y, reset=True, least=2)
        self.classes_ = classes_of(labels)
        targets, readout = self._one_hot(labels, series), class_labels.readout_of(self.readout)
        for name in ("history_", "statistics_", "fold_statistics_"):
            self.__dict__.pop(name, None)  # of another fit before
        ridge, washout = self._penalties(), self._washout(series)
        steps = self._begin(series, targets, washout)
        if readout is None:
            self._fit_steps(steps, series, targets, ridge, washout)
            self._calibrate()
        else:
            self._train(readout, steps, series, targets, ridge, washout)
        return self

    @available_if(class_labels.adds_up)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(
        self, X: SeriesLike, y: SeriesLike, classes: npt.ArrayLike | None = None, *, new_series: bool = False
    ) -> ESNStepClassifier:
        """Add a chunk, which continues the one before. For ridge regression.

        The first call sets the scaling of the inputs.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            The next steps of every series.
        y : (T,), (B, T) or list of (T_b,)
            Label of every step.
        classes : list of labels, or None
            All classes there are, for the first call; None: those in y.
        new_series : bool
            Begin from the zero state, and wash out again, keeping all that was learned.

        Returns
        -------
        ESNStepClassifier
            Itself.
        """
        class_labels.readout_of(self.readout)
        first = not hasattr(self, "esn_")
        if not first and not hasattr(self, "statistics_"):
            raise ValueError("this model was trained by minibatches and keeps no statistics to add to: call fit with all data.")
        series, labels = self._data(X, y, reset=first)
        if first:
            self.classes_ = classes_of(labels if classes is None else np.asarray(classes))
        targets, ridge = self._one_hot(labels, series), self._penalties()
        self._add_steps(
            self._begin(series, targets, None) if first else self._fitted_steps(), series, targets, ridge, new_series
        )
        if hasattr(self, "readout_"):
            self._calibrate()
        return self

    def decision_function(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """z = W_out [x, columns] + b; for two classes the difference of both, > 0 for classes_[1].

        With ridge regression, z is near 1 for the right class and 0 for the others; with "sigmoid" and "softmax", above 0 and
        below.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: at rest.

        Returns
        -------
        (T, O), (B, T, O) or list
            z, without the last axis for two classes.
        """
        return class_labels.decided(self._scores(X, state)[0], self.classes_)

    def predict_proba(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """softmax(beta z), or sigmoid(beta z) over its sum: probabilities of the classes.

        With ridge regression, beta is one over the mean squared error of held-out steps. Trained readouts have beta = 1 unless
        they have `calibrate=True`.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: at rest.

        Returns
        -------
        (T, O), (B, T, O) or list
            They add up to 1 over the last axis.
        """
        scores, _ = self._scores(X, state)
        return class_labels.probable(scores, self.steepness_, self.readout)

    def predict(self, X: SeriesLike, *, state: npt.ArrayLike | None = None, return_state: bool = False) -> Any:
        """The class with the largest z of every step, washout included.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: at rest.
        return_state : bool
            Also return the last states, for the next piece.

        Returns
        -------
        (T,), (B, T) or list of (T_b,)
            Labels; with `return_state`, also the states.
        """
        scores, last = self._scores(X, state)
        labels = class_labels.largest(scores, self.classes_)
        return (labels, last) if return_state else labels

    def score(self, X: SeriesLike, y: SeriesLike, sample_weight: SeriesLike | None = None) -> float:
        """The share of right labels, over the steps after the washout.

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
            Accuracy. The default washout follows from these series.
        """
        self._check_ready()
        series, labels = self._data(X, y, reset=False)
        guess, weights, washout = self.predict(X), cast(Any, sample_weight), self._washout(series)
        check_longer_than(series, washout, "X")
        if series.kind == "one":
            labels, guess, weights = [labels], [guess], None if weights is None else [weights]
        counts = None if weights is None else counted(weights, washout)
        return float(accuracy_score(counted(labels, washout), counted(guess, washout), sample_weight=counts))

    def _data(self, X: SeriesLike, y: Any, reset: bool, least: int = 1) -> tuple[Series, Any]:
        """Checked series, and their labels: (T,) for one series, otherwise (T_b,) for every series."""
        X = class_labels.in_columns(X)
        if not _validation.are_many(X):
            _validation.name_gaps(X, y)
            table, rules = _validation.as_table(X), {"ensure_min_samples": least, "ensure_all_finite": False}
            X, y = validate_data(self, table, y, reset=reset, dtype=np.float64, **rules)
            check_classification_targets(y)
            return as_series(X, name="X"), y
        series = _validation.inputs(self, X, reset)
        labels, per_sequence = class_labels.labels_of(y, series)
        if per_sequence:
            raise ValueError(
                "y gives one label per sequence, and ESNStepClassifier one label per step: give a label for every step, or use "
                "ESNClassifier."
            )
        return series, labels

    def _one_hot(self, labels: Array | Sequence[Array], series: Series) -> Series:
        if series.kind == "one":
            return as_targets(codes_of(np.asarray(labels), self.classes_), series)
        return as_targets([codes_of(each, self.classes_) for each in labels], series)

    def _begin(self, series: Series, targets: Series, washout: int | None) -> Steps:
        """A network for these data; washout=None is for streams."""
        columns = STATES if self.columns is None else self.columns
        return self._steps(series, targets, columns, Scaling.none(len(self.classes_)), washout)

    def _calibrate(self) -> None:
        self.steepness_ = steepness_of_steps(self.statistics_, self.readout_, self.ridge_curve_)

    def _train(
        self, readout: Minibatches, steps: Steps, series: Series, targets: Series, ridge: Floats | None, washout: int
    ) -> None:
        """A readout by minibatches: all states after the washout are rows, in the order of the series."""
        labels = self._counted_targets(series, targets, washout).argmax(axis=1)
        esn = steps.esn
        rows, last = state_rows(esn, steps.inputs.apply(series), washout, steps.columns)
        found = fit_classes(
            readout,
            rows,
            labels,
            len(self.classes_),
            ridge,
            fit.splits_of(self.folds, series.lengths, washout, ridge is not None and len(ridge) > 1),
            seed=esn.seed,
            dtype=esn.dtype,
            device=esn.device,
        )
        self._keep_network(steps, washout)
        self.readout_, self.ridge_, self.history_, self.steepness_ = found
        self.ridge_curve_ = None
        self.state_, self.steps_seen_, self.last_target_ = last, series.lengths, last_rows(targets)
        states = rows[:, : esn.units]
        check_states(states.mean(axis=0, dtype=np.float64), states.var(axis=0, dtype=np.float64), esn)

    def _scores(self, X: SeriesLike, state: npt.ArrayLike | None) -> tuple[Any, Array]:
        self._check_ready()
        return self._outputs(_validation.inputs(self, class_labels.in_columns(X), reset=False), state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
