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

from echoscale._internal import hints
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


@hints.options
class ESNStepClassifier(ClassifierMixin, StepEstimator):
    """Classification of every step of a series, with a readout of the states of an echo state network.

        z(t) = W_out [x(t), columns(t)] + b,    label(t) = class with the largest z(t)

    X is one series (T, F) with y (T,), a batch (B, T, F) with y (B, T), or lists of both. `fit` starts every series from the
    zero state, `predict` and `score` start from rest (see `ESNRegressor`), and `predict(X, state=...)` continues from a state.
    `partial_fit` continues from the chunk before.

    Parameters
    ----------
    units : int or tuple of int, default (100, 100, 100, 100)
        Number of neurons of one reservoir, or of each parallel reservoir.
    leak_rate : float, tuple or None
        Leak rate alpha in (0, 1], one for all reservoirs or one for each. Smaller values give longer memory, of about 1 / alpha
        steps; with 1 a neuron forgets at once. None: chosen on held-out data, as in `ESNRegressor`.
    spectral_radius : float or tuple, default 0.95
        Spectral radius of the recurrent matrix W, one for all reservoirs or one for each. Larger values give longer memory.
    input_scaling : float, tuple or None
        Scale of the input weights, one for all reservoirs or one for each. Larger values drive tanh closer to saturation. None:
        chosen on held-out data, as in `ESNRegressor`.
    network : Network or None
        Description of any other network, in place of the four parameters above.
    columns : Columns or None
        Inputs, squares and products of states that the readout sees beside the states; see `echoscale.readouts.Columns`. None:
        the states only.
    readout : None, Softmax or Sigmoid
        Method that fits W_out. None: ridge regression on one-hot labels, which also has `partial_fit`.
        `echoscale.readouts.Softmax` or `echoscale.readouts.Sigmoid`: minimal cross-entropy, trained by minibatches with all
        rows in memory.
    washout : int or None
        Number of steps at the start of every series that `fit` and `score` run but do not count. None: 100, or a tenth of the
        shortest series if that is less. In `partial_fit`, None is the washout of the last `fit`, or 100. With a number, fitting
        chunk by chunk equals one fit of the whole series.
    scale : "standard" or None, default "standard"
        Scaling of the inputs. "standard": the network receives inputs of mean 0 and standard deviation 1, measured in `fit` or
        on the first chunk of `partial_fit`; a constant column becomes 0. None: inputs are used unchanged.
    ridge : "auto", float or list of floats, default "auto"
        Ridge penalty on the readout weights. "auto": the best on held-out folds, from 1e-12 to 1e4 times the mean squared
        singular value of the states. A list: the best entry. If the smallest penalty of the path is among the best, the path
        continues down to 0 with an exact solution that keeps all rows (up to 512 MiB). With too little data for two folds of
        four steps, "auto" is 1e-4 times the mean squared singular value. For `Softmax` and `Sigmoid`, "auto" is 1e-5.

        In `partial_fit`, every chunk is a block that is assigned to the folds in turn, and "auto" chooses again at every call.
        Before there are two folds, "auto" is 1e-4 times the mean squared singular value. After a `fit`, the relative penalty of
        that fit is kept.
    folds : int, default 5
        Number of folds for the choice of the penalty. Folds are blocks of time, separated by gaps of a twentieth of a fold;
        with at least as many series as folds, whole series are held out. Short data have fewer folds.
    dtype : "float32" or "float64", default "float32"
        Precision of the network.
    device : None, "cpu", "gpu" or a jax.Device
        Device that runs the network. None: JAX's choice.
    random_state : int, numpy.random.RandomState or None
        Random seed of the weights and of the order of minibatches. None: a new seed at every fit.

    Attributes
    ----------
    classes_ : (O,) array
        Class labels, sorted.
    esn_ : ESN
        The network with its weights.
    candidates_ : Candidates or None
        Leak rates, input scalings and held-out errors of all candidates, with `chosen`, `table` and `plot()`; None if nothing
        was chosen. In a stream, the first chunk chooses.
    readout_ : Readout
        Weights W_out and intercept b (O,), for states and columns that are not standardised.
    steepness_ : float
        Steepness beta of the probabilities softmax(beta z).
    ridge_ : float
        Ridge penalty, given or chosen.
    ridge_curve_ : RidgeCurve or None
        Error on held-out folds for every penalty, with `plot()` and `table()`; None if nothing was chosen.
    scaling_ : Scaling
        Mean and spread of every input.
    columns_ : Columns
        Columns that the readout sees beside the states.
    washout_ : int
        Washout of the last fit.
    state_ : (N,) or (B, N) array
        States after the last fitted step. With several inputs as columns, the last inputs follow, as in `ESNRegressor`.
    rest_ : array
        State from which `predict` starts a series, in the layout of `state_`.
    statistics_ : Statistics
        Means and sums of products of states and one-hot labels, to which `partial_fit` adds; only with ridge regression.
    history_ : TrainingHistory
        Loss and accuracy of every epoch; only with `Softmax` or `Sigmoid`.
    n_features_in_ : int
        Number F of inputs.

    See Also
    --------
    echoscale.ESNClassifier : Predicts one label per sequence.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> u = np.random.default_rng(0).normal(size=(1000, 1))
    >>> labels = np.where(np.roll(u[:, 0], 1) > np.roll(u[:, 0], 2), "rose", "fell")  # from u(t-2) to u(t-1)
    >>> model = es.ESNStepClassifier(units=100, random_state=0).fit(u[:800], labels[:800])
    >>> print(model.predict(u[800:], state=model.state_)[:4], labels[800:804])
    ['rose' 'fell' 'rose' 'fell'] ['rose' 'fell' 'rose' 'fell']
    >>> round(model.score(u[800:], labels[800:]), 1)
    1.0
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
        """Runs the network over X from the zero state and fits the readout.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs. An array with one axis is one column.
        y : (T,), (B, T) or list of (T_b,)
            Label of every step.

        Returns
        -------
        ESNStepClassifier
            The fitted estimator.
        """
        series, labels = self._data(X, y, reset=True, least=2)
        self.classes_ = classes_of(labels)
        targets, readout = self._one_hot(labels, series), class_labels.readout_of(self.readout)
        for name in ("history_", "statistics_", "fold_statistics_"):
            self.__dict__.pop(name, None)  # left by an earlier fit
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
        """Adds a chunk of data that continues the chunk before, for a ridge readout.

        The first call sets the scaling of the inputs.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            The next steps of every series.
        y : (T,), (B, T) or list of (T_b,)
            Label of every step.
        classes : list of labels, or None
            All classes, for the first call. None: the labels in y.
        new_series : bool
            Whether the chunk begins new series, with the zero state and a washout. What was learned is kept.

        Returns
        -------
        ESNStepClassifier
            The fitted estimator.
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
        """Returns the scores z(t) = W_out [x(t), columns(t)] + b of all classes at every step.

        For two classes, the result is the difference of both scores, positive for classes_[1]. With ridge regression, z is near
        1 for the right class and near 0 for the others. With `Softmax` and `Sigmoid`, z is positive for likely classes and
        negative for others.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : array like `state_`, or None
            Initial state. None: the state at rest, `rest_`.

        Returns
        -------
        (T, O), (B, T, O) or list
            Scores, without the last axis for two classes.
        """
        return class_labels.decided(self._scores(X, state)[0], self.classes_)

    def predict_proba(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """Returns the probabilities of all classes at every step.

            p = softmax(beta z),    with `Sigmoid`: p = sigmoid(beta z) over its sum

        With ridge regression, beta is one over the mean squared error on held-out steps. With `Softmax` and `Sigmoid`, beta is
        1 unless `calibrate=True`.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : array like `state_`, or None
            Initial state. None: the state at rest, `rest_`.

        Returns
        -------
        (T, O), (B, T, O) or list
            Probabilities, which add up to 1 over the last axis.
        """
        scores, _ = self._scores(X, state)
        return class_labels.probable(scores, self.steepness_, self.readout)

    def predict(self, X: SeriesLike, *, state: npt.ArrayLike | None = None, return_state: bool = False) -> Any:
        """Returns the class with the largest score at every step, washout included.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : array like `state_`, or None
            Initial state. None: the state at rest, `rest_`.
        return_state : bool, default False
            Whether the last state is returned too, for the next piece.

        Returns
        -------
        (T,), (B, T) or list of (T_b,)
            Labels. With `return_state`, a pair of labels and last state.
        """
        scores, last = self._scores(X, state)
        labels = class_labels.largest(scores, self.classes_)
        return (labels, last) if return_state else labels

    def score(self, X: SeriesLike, y: SeriesLike, sample_weight: SeriesLike | None = None) -> float:
        """Returns the accuracy: the share of steps after the washout with the right label.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        y : as in `fit`
            Label of every step.
        sample_weight : as y, or None
            Weight of every step. None: equal weights.

        Returns
        -------
        float
            Accuracy. The default washout depends on the length of these series.
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
        """Trains a readout by minibatches; its rows are all states after the washout, series after series."""
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
