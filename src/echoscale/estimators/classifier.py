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

from echoscale._internal import checks
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


class ESNClassifier(ClassifierMixin, ESNEstimator):
    """Give every sequence a label: the class with the largest output of a readout of its pooled states.

        z = W_out f + b,    f the row of `ESNFeatures` of a sequence, standardised

    X is an array (B, T, F) or a list of (T_b, F), y is (B,). For one label per step, see `ESNStepClassifier`. Every sequence
    begins from the zero state.

    With nothing set, the leak rates, the input scaling, changes and ranks of the inputs and the pools are chosen by sequences
    that are left out one by one, and the ridge penalty by folds. Probabilities are calibrated on the sequences left out.

    Parameters
    ----------
    units : int or tuple of int
        Number of neurons, of one reservoir or of each of several side by side.
    leak_rate : float, tuple or None
        alpha in (0, 1] of all reservoirs, or of each; 1 forgets at once. None: from 1 on the first reservoir to 0.3, 0.1 or
        0.03 on the last, whichever is best on held-out sequences, the others geometrically between them; the same range for
        the neurons of one reservoir.
    spectral_radius : float or tuple
        Spectral radius of the recurrent matrices.
    input_scaling : float, tuple or None
        Scale of the input weights. None: the better of 0.3 and 1 on held-out sequences.
    network : Network or None
        Any network, in place of the four parameters before.
    pools : Pools or None
        What the network receives and how its states are pooled, see `echoscale.readouts.Pools`. None: `Pools()`, whose open
        options are chosen.
    readout : None, Softmax or Sigmoid
        How W_out is found. None: ridge regression on one-hot labels, solved at once, with `partial_fit`. Otherwise least
        cross-entropy, trained by minibatches, see `echoscale.readouts.Softmax` and `echoscale.readouts.Sigmoid`. A readout
        that is trained keeps all rows in memory.
    washout : int
        Steps at the start of every sequence that its pools do not count.
    scale : "standard" or None
        "standard": the network receives inputs of mean 0 and standard deviation 1, over all data of `fit`, or over the first
        chunk of `partial_fit`. A column that is constant there becomes 0. None: the network receives the data as they are.
    ridge : "auto", float or list of floats
        Penalty on the readout's weights for standardised features. "auto": from a path of 1e-12 to 1e4 times the mean squared
        singular value of the features, the best on held-out folds; a list: the best of it. Where the smallest of the path is
        among the best, it goes on down to 0 with an exact solution that needs all rows at once (up to 512 MiB). With too few
        sequences for two folds of four, "auto" is 1e-4 times that mean square. A trained readout has 1e-5, which folds would
        train many times. `partial_fit` judges all sequences so far again.
    folds : int
        Number of folds that choose a penalty, with every class in each as far as can be.
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
    transformer_ : ESNFeatures
        The features that were chosen.
    candidates_ : Candidates or None
        Leak rates and input scalings that were tried, each with the best pools, with `table` and `plot()`; None where they are
        given.
    esn_ : ESN
        The network with its weights.
    readout_ : Readout
        W_out and b (O,), for features that are not standardised.
    steepness_ : float
        beta in p = softmax(beta z), of `predict_proba`.
    ridge_ : float
        The penalty, as given or as chosen.
    ridge_curve_ : RidgeCurve or None
        The error of the held-out folds against the penalty, with `plot()` and `table()`; None where nothing was chosen.
    scaling_ : Scaling or NormalScores
        Inputs in units of the network, from units of the data.
    washout_ : int
        The steps that the last fit did not count.
    rows_, codes_ : (B, columns) and (B, O) arrays
        With ridge regression: features and one-hot labels so far, to which `partial_fit` adds.
    history_ : TrainingHistory
        With a trained readout.
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
    >>> model = es.ESNClassifier(random_state=0).fit(X[::2], labels[::2])
    >>> model.classes_, model.score(X[1::2], labels[1::2])
    (array(['fast', 'slow'], dtype='<U4'), 1.0)
    >>> bool(model.predict_proba(X[1:2])[0, 1] > 0.8)
    True
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
        """Run the network over every sequence and solve for the readout, or train it.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences; a single input needs no axis of its own.
        y : (B,)
            Label of every sequence.

        Returns
        -------
        ESNClassifier
            Itself.
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
        """Add more sequences. For ridge regression.

        The first call sets the scaling of the inputs, and all that was left open but the penalty.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences; a single input needs no axis of its own.
        y : (B,)
            Label of every sequence.
        classes : list of labels, or None
            All classes there are, for the first call; None: those in y.

        Returns
        -------
        ESNClassifier
            Itself.
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
        """z = W_out f + b; for two classes the difference of both, > 0 for classes_[1].

        With ridge regression, z is near 1 for the right class and 0 for the others; with "sigmoid" and "softmax", above 0 and
        below.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.

        Returns
        -------
        (B, O), or (B,) for two classes
            z.
        """
        return np.asarray(class_labels.decided(self._scores(X), self.classes_))

    def predict_proba(self, X: SeriesLike) -> Floats:
        """softmax(beta z), or sigmoid(beta z) over its sum: probabilities of the classes.

        With ridge regression, beta makes the labels of sequences that are left out one by one most likely
        (`readouts.classes`). Trained readouts have beta = 1 unless they have `calibrate=True`.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.

        Returns
        -------
        (B, O) array
            They add up to 1 over the last axis.
        """
        return np.asarray(class_labels.probable(self._scores(X), self.steepness_, self.readout))

    def predict(self, X: SeriesLike) -> Array:
        """The class with the largest z of every sequence.

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
        """The share of right labels.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.
        y : (B,)
            Label of every sequence.
        sample_weight : (B,), or None
            How much each label counts; None: all alike.

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
            self.__dict__.pop(name, None)  # of another fit before
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
        """Features of every sequence, as many as in the fit."""
        found, fitted = self.transformer_.pool(series), self.readout_.coef.shape[1]
        if found.shape[1] != fitted:
            raise ValueError(
                f"sequences of {series.lengths[0]} steps give {found.shape[1]} features, those of the fit gave {fitted}: with "
                "snapshots every so many steps they must be of the same length."
            )
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
