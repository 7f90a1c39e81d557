"""`ESNClassifier`: one label per sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from echoscale._internal import checks, hints
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array, Floats
from echoscale.data.normal_scores import NormalScores
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, SeriesLike
from echoscale.estimators import _validation, class_labels, sequences
from echoscale.estimators._validation import RandomState, penalties_of, seed_of
from echoscale.estimators.base import ESNEstimator
from echoscale.estimators.class_labels import classes_of, codes_of
from echoscale.estimators.features import SPECTRAL_RADIUS, UNITS, ESNFeatures, pools_of
from echoscale.network import Network
from echoscale.readouts import fit, splits
from echoscale.readouts.classes import Minibatches, Sigmoid, Softmax, fit_classes, fit_ridge, steepness
from echoscale.readouts.logistic import TrainingHistory
from echoscale.readouts.penalties import RidgeCurve
from echoscale.readouts.pooling import Pools
from echoscale.readouts.ridge import Readout
from echoscale.timescales.candidates import Candidates

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


@hints.options
class ESNClassifier(ClassifierMixin, ESNEstimator):
    """Classification of sequences, one label each, with a readout of the pooled states of an echo state network.

        z = W_out f + b,    label = class with the largest z

    f is the row of features that `ESNFeatures` computes for a sequence, standardised. X is an array (B, T, F) or a list of
    (T_b, F), and y is (B,). Every sequence starts from the zero state.

    Settings that are left open (leak rates, input scaling, changes and ranks of the inputs, pools) are chosen by leave-one-out
    error, and the ridge penalty by cross-validation. Probabilities are calibrated on the left-out sequences.

    Parameters
    ----------
    units : int or tuple of int, default (100, 100, 100, 100)
        Number of neurons of one reservoir, or of each parallel reservoir.
    leak_rate : float, tuple or None
        Leak rate alpha in (0, 1], one for all reservoirs or one for each. Smaller values give longer memory, of about 1 / alpha
        steps; with 1 a neuron forgets at once. None: a geometric range from 1 on the first reservoir to 0.3, 0.1 or 0.03 on the
        last, chosen on held-out sequences. One reservoir has the same range over its neurons.
    spectral_radius : float or tuple, default 0.95
        Spectral radius of the recurrent matrix W, one for all reservoirs or one for each. Larger values give longer memory.
    input_scaling : float, tuple or None
        Scale of the input weights, one for all reservoirs or one for each. Larger values drive tanh closer to saturation. None:
        0.3 or 1, chosen on held-out sequences.
    network : Network or None
        Description of any other network, in place of the four parameters above.
    pools : Pools or None
        Inputs of the network and pools of its states; see `echoscale.readouts.Pools`. None: `Pools()`, whose open options are
        chosen.
    readout : None, Softmax or Sigmoid
        Method that fits W_out. None: ridge regression on one-hot labels, which also has `partial_fit`.
        `echoscale.readouts.Softmax` or `echoscale.readouts.Sigmoid`: minimal cross-entropy, trained by minibatches with all
        rows in memory.
    washout : int, default 0
        Number of steps at the start of every sequence that the pools do not count.
    scale : "standard" or None, default "standard"
        Scaling of the inputs. "standard": the network receives inputs of mean 0 and standard deviation 1, measured in `fit` or
        on the first chunk of `partial_fit`; a constant column becomes 0. None: inputs are used unchanged.
    ridge : "auto", float or list of floats, default "auto"
        Ridge penalty on the readout weights, for standardised features. "auto": the best on held-out folds, from 1e-12 to 1e4
        times the mean squared singular value of the features. A list: the best entry. If the smallest penalty of the path is
        among the best, the path continues down to 0 with an exact solution that keeps all rows (up to 512 MiB). With too few
        sequences for two folds of four, "auto" is 1e-4 times the mean squared singular value. For `Softmax` and `Sigmoid`,
        "auto" is 1e-5. `partial_fit` chooses again from all sequences so far.
    folds : int, default 5
        Number of folds for the choice of the penalty. Every fold holds all classes, as far as possible.
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
    transformer_ : ESNFeatures
        Transformer with the chosen settings.
    candidates_ : Candidates or None
        Leak rates and input scalings that were compared, each with its best pools, with `table` and `plot()`; None if both were
        given.
    esn_ : ESN
        The network with its weights.
    readout_ : Readout
        Weights W_out (O, columns) and intercept b (O,), for features that are not standardised.
    steepness_ : float
        Steepness beta of the probabilities softmax(beta z).
    ridge_ : float
        Ridge penalty, given or chosen.
    ridge_curve_ : RidgeCurve or None
        Error on held-out folds for every penalty, with `plot()` and `table()`; None if nothing was chosen.
    scaling_ : Scaling or NormalScores
        Map from inputs in units of the data to inputs of the network.
    washout_ : int
        Washout of the last fit.
    rows_, codes_ : (B, columns) and (B, O) arrays
        Features and one-hot labels of all sequences so far, to which `partial_fit` adds; only with ridge regression.
    history_ : TrainingHistory
        Loss and accuracy of every epoch; only with `Softmax` or `Sigmoid`.
    n_features_in_ : int
        Number F of inputs.

    See Also
    --------
    echoscale.ESNStepClassifier : Predicts one label per step.
    echoscale.ESNFeatures : Computes the pooled states for any classifier of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["slow", "fast"], 20)
    >>> step = np.where(labels == "slow", 0.2, 0.6)[:, None]
    >>> X = np.sin(step * np.arange(50) + rng.uniform(0, 6, (40, 1)))[..., None]
    >>> model = es.ESNClassifier(random_state=0).fit(X[::2], labels[::2])
    >>> print(model.predict(X[17:23:2]), model.score(X[1::2], labels[1::2]))
    ['slow' 'slow' 'fast'] 1.0
    """

    classes_: Array
    transformer_: ESNFeatures
    candidates_: Candidates | None
    readout_: Readout
    ridge_: float
    ridge_curve_: RidgeCurve | None
    scaling_: Scaling | NormalScores
    steepness_: float
    washout_: int
    rows_: Floats
    codes_: Floats
    history_: TrainingHistory

    def __init__(
        self,
        units: int | Sequence[int] = UNITS,
        leak_rate: float | Sequence[float] | None = None,
        spectral_radius: float | Sequence[float] = SPECTRAL_RADIUS,
        input_scaling: float | Sequence[float] | None = None,
        *,
        network: Network | None = None,
        pools: Pools | None = None,
        readout: Softmax | Sigmoid | None = None,
        washout: int = 0,
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
        self.pools = pools
        self.readout = readout
        self.washout = washout
        self.scale = scale
        self.ridge = ridge
        self.folds = folds
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: SeriesLike, y: npt.ArrayLike) -> ESNClassifier:
        """Runs the network over every sequence, chooses the open settings and fits the readout.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences. Sequences with one input may be (T_b,) in a list.
        y : (B,)
            Label of every sequence.

        Returns
        -------
        ESNClassifier
            The fitted estimator.
        """
        series, labels = self._data(X, y, reset=True)
        self.classes_ = classes_of(labels)
        codes = codes_of(labels, self.classes_)
        class_labels.refuse_single_sequences(codes, self.classes_)
        self._fit_sequences(series, codes)
        return self

    @available_if(class_labels.adds_up)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(self, X: SeriesLike, y: npt.ArrayLike, classes: npt.ArrayLike | None = None) -> ESNClassifier:
        """Adds more sequences to a ridge readout.

        The first call sets the scaling of the inputs and chooses the open settings. Later calls choose the penalty only.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences. Sequences with one input may be (T_b,) in a list.
        y : (B,)
            Label of every sequence.
        classes : list of labels, or None
            All classes, for the first call. None: the labels in y.

        Returns
        -------
        ESNClassifier
            The fitted estimator.
        """
        class_labels.readout_of(self.readout)
        first = not hasattr(self, "esn_")
        if not first and not hasattr(self, "rows_"):
            raise ValueError("this model was trained by minibatches and keeps no statistics to add to: call fit with all data.")
        series, labels = self._data(X, y, reset=first)
        if first:
            self.classes_ = classes_of(labels if classes is None else np.asarray(classes))
        codes = codes_of(labels, self.classes_)
        if first:
            self._fit_sequences(series, codes)
        else:
            rows, codes = np.concatenate([self.rows_, self._pooled(series)]), np.concatenate([self.codes_, codes])
            self._solve(rows, codes, self._penalties())
        return self

    def decision_function(self, X: SeriesLike) -> Floats:
        """Returns the scores z = W_out f + b of all classes.

        For two classes, the result is the difference of both scores, positive for classes_[1]. With ridge regression, z is near
        1 for the right class and near 0 for the others. With `Softmax` and `Sigmoid`, z is positive for likely classes and
        negative for others.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.

        Returns
        -------
        (B, O), or (B,) for two classes
            Scores.
        """
        return np.asarray(class_labels.decided(self._scores(X), self.classes_))

    def predict_proba(self, X: SeriesLike) -> Floats:
        """Returns the probabilities of all classes.

            p = softmax(beta z),    with `Sigmoid`: p = sigmoid(beta z) over its sum

        With ridge regression, beta maximises the likelihood of the labels of left-out sequences. With `Softmax` and `Sigmoid`,
        beta is 1 unless `calibrate=True`.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.

        Returns
        -------
        (B, O) array
            Probabilities, which add up to 1 over the last axis.
        """
        return np.asarray(class_labels.probable(self._scores(X), self.steepness_, self.readout))

    def predict(self, X: SeriesLike) -> Array:
        """Returns the class with the largest score for every sequence.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.

        Returns
        -------
        (B,)
            Labels.
        """
        return np.asarray(class_labels.largest(self._scores(X), self.classes_))

    def score(self, X: SeriesLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Returns the accuracy: the share of sequences with the right label.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.
        y : (B,)
            Label of every sequence.
        sample_weight : (B,), or None
            Weight of every sequence. None: equal weights.

        Returns
        -------
        float
            Accuracy.
        """
        check_is_fitted(self, "readout_")
        _, labels = self._data(X, y, reset=False)
        return float(accuracy_score(labels, self.predict(X), sample_weight=sample_weight))

    def _data(self, X: SeriesLike, y: Any, reset: bool) -> tuple[Series, Array]:
        """Checked sequences, and their labels (B,)."""
        X = class_labels.in_columns(X)
        if not _validation.are_many(X):
            raise ValueError(
                f"X of shape {np.asarray(X).shape} is one series, and ESNClassifier gives one label per sequence: pass "
                "(B, T, F) or a list of (T, F), for sequences of one input X[..., None]. For one label per step use "
                "ESNStepClassifier."
            )
        series = _validation.inputs(self, X, reset)
        labels, per_sequence = class_labels.labels_of(y, series)
        if not per_sequence:
            raise ValueError(
                "y gives one label per step, and ESNClassifier one label per sequence: give y of shape (B,), or use "
                "ESNStepClassifier."
            )
        return series, labels

    def _penalties(self) -> Floats | None:
        checks.integer(self.washout, "washout")
        return penalties_of(self)

    def _fit_sequences(self, series: Series, codes: Floats) -> None:
        class_labels.warn_of_axes(series)
        readout, ridge = class_labels.readout_of(self.readout), self._penalties()
        shared = {name: getattr(self, name) for name in ESNFeatures().get_params()}
        shared["random_state"] = seed_of(self.random_state)
        made, rows, self.candidates_ = sequences.choose(shared, pools_of(self.pools), series, codes)
        for name in ("rows_", "codes_", "history_"):
            self.__dict__.pop(name, None)  # left by an earlier fit
        self.transformer_, self.esn_, self.scaling_, self.washout_ = made, made.esn_, made.scaling_, int(self.washout)
        if readout is None:
            self._solve(rows, codes, ridge)
        else:
            self._train(readout, rows, codes.argmax(axis=1), ridge)
        sequences.warn_of_states(rows, pools_of(made.pools), made.esn_)

    def _solve(self, rows: Floats, codes: Floats, ridge: Floats | None) -> None:
        found = fit_ridge(rows, codes, ridge, self.folds, standardise=pools_of(self.pools).standardise)
        self.rows_, self.codes_ = rows, codes
        self.readout_, self.ridge_, self.ridge_curve_ = found.readout, found.ridge, found.curve
        self.steepness_ = steepness(found.outputs, codes.argmax(axis=1))

    def _train(self, readout: Minibatches, rows: Floats, labels: Array, ridge: Floats | None) -> None:
        esn = self.esn_
        found = fit_classes(
            readout,
            rows,
            labels,
            len(self.classes_),
            ridge,
            fit.splits_by_class(self.folds, labels, ridge is not None and len(ridge) > 1),
            judged=fit.splits_by_class(splits.FOLDS, labels, several=True),
            seed=esn.seed,
            dtype=esn.dtype,
            device=esn.device,
        )
        self.readout_, self.ridge_, self.history_, self.steepness_ = found
        self.ridge_curve_ = None

    def _scores(self, X: SeriesLike) -> Floats:
        check_is_fitted(self, "readout_")
        series = _validation.inputs(self, class_labels.in_columns(X), reset=False)
        if series.kind == "one":
            raise ValueError(
                "this model gives one label per sequence: pass (B, T, F) or a list of (T, F), for one sequence X[None]."
            )
        return self.readout_.predict(self._pooled(series))

    def _pooled(self, series: Series) -> Floats:
        """Features of every sequence; their number must be that of the fit."""
        found, fitted = self.transformer_.pool(series), self.readout_.coef.shape[1]
        if found.shape[1] != fitted:
            raise ValueError(
                f"sequences of {series.lengths[0]} steps give {found.shape[1]} features, those of the fit gave {fitted}: with "
                "snapshots every `every` steps they must have the same length."
            )
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
