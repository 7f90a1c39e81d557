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

from echoscale._internal import checks
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Array, Floats
from echoscale.data import losses
from echoscale.data.scaling import Scaling
from echoscale.data.series import Series, SeriesLike, as_series, as_targets, check_longer_than
from echoscale.engine.esn import ESN
from echoscale.estimators import _validation, minibatches, sequences
from echoscale.estimators._validation import RandomState, counted, last_rows, map_given, seed_of
from echoscale.estimators.class_labels import classes_of, codes_of, in_columns, labels_of, refuse_single_sequences, warn_of_axes
from echoscale.estimators.features import BIAS_SCALING, SPECTRAL_RADIUS, UNITS, ESNFeatures, SequenceNetwork
from echoscale.network import Network
from echoscale.readouts import calibration, fit, leave_one_out, logistic, splits
from echoscale.readouts.states import check_states, state_rows

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike


RIDGE = "ridge"
READOUTS = (RIDGE, *logistic.OF_CLASSES)


def _adds_up(model: ESNClassifier) -> bool:
    if model.readout in READOUTS[1:]:
        raise AttributeError(
            f"partial_fit adds to what a ridge readout is solved from; readout={model.readout!r} is trained on all data at "
            "once: use fit. For streams, see echoscale.OnlineLearner."
        )
    return True


class ESNClassifier(ClassifierMixin, SequenceNetwork):
    """z = W_out f + b; the class is the largest z. One label per sequence, or one per step.

    f is a sequence's row of `ESNFeatures`, standardised; with one label per step it is the state x(t).

    "ridge"    least squares on one-hot targets, solved at once; the only one with `partial_fit`
    "softmax"  least cross-entropy of softmax(z) and the class, trained by minibatches (`echoscale.readouts.logistic`)
    "sigmoid"  likewise with every class by itself, sigmoid(z), as in the paper

    The last two keep what they are trained on: the features of all sequences, or all states after the washout. They see
    standardised features; the penalty stands beside the summed loss, sum of E + ridge/2 |W|^2.

    One label per sequence: X (B, T, F) or a list of (T_b, F), with y (B,).
    One label per step: X (T, F) with y (T,), X (B, T, F) with y (B, T), or lists of both.

    State: `fit` starts every series from the zero state, `predict` and `score` from rest (of steps) or from the zero state (of
    sequences); `predict(X, state=...)` carries on, as in
    `ESNRegressor`. `partial_fit` with one label per step carries on from the chunk before; with one label per sequence every
    sequence starts from the zero state.

    Parameters
    ----------
    units : int or tuple of int
        Neurons, of every level.
    structure : "single", "parallel" or "hierarchical"
        How the levels are joined. Two levels: units=(50, 50), structure="hierarchical".
    leak_rate : float, tuple or None
        alpha in (0, 1] of all levels, or of each; 1 forgets at once. None: from 1 on the first level to 0.03 on the last, the
        others geometrically between them; 1 where there is one level.
    spectral_radius : float or tuple
        Of the recurrent weights.
    input_scaling : float, tuple or None
        Of the input weights. In a hierarchy, one number is that of the first level; the others have 0. None: the
        better of 0.3 and 1 on held-out sequences; 0.3 with one label per step.
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
    features : "auto", str or tuple of str
        How the states of a sequence are pooled, see `ESNFeatures`: "mean", "std", "max", "min", "last", "segments",
        "snapshots", or several of them. "auto": ("mean", "std", "max", "min") or ("segments", "std", "max", "min"), whichever
        is better on held-out sequences.
    every : int or None
        Of snapshots: steps from one to the next, for sequences of one length. None: `parts` of them at relative positions,
        x(ceil(k T / parts)), k = 1, 2, ..., whatever the length T.
    parts : int
        How many segments, and snapshots at relative positions.
    changes : bool
        Whether the network hears the changes u(t) - u(t-1) beside the inputs. For sequences.
    ranks : bool or None
        Whether the network hears normal scores of the inputs, see `ESNFeatures`. None: as held-out sequences say; False with
        scale=None, or with one label per step.
    standardise : bool
        Whether a ridge readout of sequences sees standardised features. Trained readouts always do.
    readout : "ridge", "softmax" or "sigmoid"
        How z is found, see above.
    epochs : int
        Of a trained readout: how often every row is seen.
    rate : float
        Of a trained readout: the first step of Adam, which falls to 0 along a cosine.
    minibatch : int
        Of a trained readout: rows of a step, or all where there are fewer.
    calibrate : bool or None
        Whether held-out sequences set how steep probabilities are. A trained readout is then trained once more for every
        fold; None: yes for "ridge", where it costs nothing, no for the others.
    network : Network or None
        Any network, in place of the parameters from `units` to `coupling_delay`.
    washout : int or None
        Steps at the start of every series that `fit` and `score`, and the pools of a sequence, do not count. None: with one
        label per sequence 0; per step 100, or a tenth of the shortest series where that is less. `partial_fit` does not know
        the end of its series: None is then the washout of a `fit` before it, or 100. With a number, chunks equal one fit of
        the whole.
    scale : "standard" or None
        "standard": the network sees inputs of mean 0 and standard deviation 1, over all data of `fit`, or over the first
        chunk of `partial_fit`. A column that is constant there becomes 0. None: the network sees the data as they are.
    ridge : "auto", float or list of floats
        The penalty on the readout's weights; of sequences, on those of standardised features. "auto": from a path of 1e-12 to
        1e4 times the mean squared singular value of the features, the best on held-out folds; a list: the best of it. Where
        the smallest of the path is among the best, it goes on down to 0 with an exact solution that needs all rows at once (up
        to 512 MiB). With too little data for two folds of four steps or sequences, "auto" is 1e-4 times that mean square. A
        trained readout has 1e-5, which folds would train many times over. In `partial_fit` of steps, every chunk is a block,
        dealt out to the folds in turn, and "auto" chooses anew at every call; before there are two folds it is 1e-4 times the
        mean square, and after a `fit` the relative penalty of that fit stays. Of sequences, all so far are judged again.
    validation : int or float
        What is chosen by: a number of folds, or the share of a validation tail. Folds of sequences have every class in each as
        far as can be (a share: every k-th sequence). Folds of steps are blocks of time with a gap of a twentieth of a fold
        between them (whole series where there are as many series as folds; fewer folds where data are short).
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
    transformer_ : ESNFeatures
        With one label per sequence: what was chosen, with `features`, `ranks` and `input_scaling`.
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
        From inputs to what the network hears.
    washout_ : int
        The steps that the last fit did not count.
    per_sequence_ : bool
        Whether there is one label per sequence.
    rows_, codes_ : (B, columns) and (B, O) arrays
        With one label per sequence and "ridge": features and one-hot labels so far, to which `partial_fit` adds.
    state_ : (N,) or (B, N) array
        With one label per step: the states after the last step that was fitted, and with direct > 1 the last inputs, as in
        `ESNRegressor`.
    statistics_ : Statistics
        With one label per step and "ridge"; `partial_fit` adds to them.
    history_ : TrainingHistory
        Of "softmax" and "sigmoid" (not saved to files).
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

    transformer_: ESNFeatures
    rows_: Floats
    codes_: Floats
    steepness_: float

    def __init__(
        self,
        units: int | Sequence[int] = UNITS,
        structure: str = "parallel",
        leak_rate: float | Sequence[float] | None = None,
        spectral_radius: float | Sequence[float] = SPECTRAL_RADIUS,
        input_scaling: float | Sequence[float] | None = None,
        bias_scaling: float | Sequence[float] = BIAS_SCALING,
        coupling: float | Sequence[float] = 1.0,
        connections: int | Sequence[int | None] | None = None,
        topology: object = "normal",
        coupling_delay: int = 1,
        *,
        features: str | Sequence[str] = sequences.AUTO,
        every: int | None = None,
        parts: int = 4,
        changes: bool = True,
        ranks: bool | None = None,
        standardise: bool = True,
        readout: str = RIDGE,
        epochs: int = 30,
        rate: float = 1e-3,
        minibatch: int = 50,
        calibrate: bool | None = None,
        network: Network | None = None,
        washout: int | None = None,
        scale: str | None = "standard",
        ridge: float | Sequence[float] | str = "auto",
        validation: float | int = splits.FOLDS,
        direct: bool | int = False,
        dtype: str = "float32",
        device: DeviceLike = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            units,
            structure,
            cast(Any, leak_rate),
            spectral_radius,
            cast(Any, input_scaling),
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
            direct=direct,
            dtype=dtype,
            device=device,
            random_state=random_state,
        )
        self.features = features
        self.every = every
        self.parts = parts
        self.changes = changes
        self.ranks = ranks
        self.standardise = standardise
        self.readout = readout
        self.epochs = epochs
        self.rate = rate
        self.minibatch = minibatch
        self.calibrate = calibrate

    @all_or_nothing
    def fit(self, X: SeriesLike, y: SeriesLike) -> ESNClassifier:
        """Run the network from the zero state and solve for the readout, or train it.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Inputs; sequences of one input may have one axis each.
        y : (B,); or (T,), (B, T) or list of (T_b,)
            Labels of every sequence, or of every step.

        Returns
        -------
        ESNClassifier
            Itself.
        """
        series, labels = self._data(X, y, reset=True, least=2)
        self.classes_ = classes_of(labels)
        solved = checks.choice(self.readout, READOUTS, "readout") == RIDGE
        for name in ("transformer_", "rows_", "codes_", "history_", "statistics_", "fold_statistics_"):
            self.__dict__.pop(name, None)  # of another fit before
        if self.per_sequence_:
            self._fit_sequences(series, codes_of(np.asarray(labels), self.classes_))
        elif solved:
            self._fit_steps(series, self._one_hot(labels, series), Scaling.none(len(self.classes_)))
            self.settle_steepness()
        else:
            self._train_steps(series, self._one_hot(labels, series))
        return self

    @available_if(_adds_up)  # type: ignore[untyped-decorator]
    @all_or_nothing
    def partial_fit(
        self, X: SeriesLike, y: SeriesLike, classes: npt.ArrayLike | None = None, *, new_series: bool = False
    ) -> ESNClassifier:
        """Add a chunk (one label per step: it continues the one before) or more sequences. For readout="ridge".

        The first call sets the scaling of the inputs, and all that was left open but the penalty.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Inputs.
        y : (B,); or (T,), (B, T) or list of (T_b,)
            Labels of every sequence, or of every step.
        classes : list of labels, or None
            All classes there are, for the first call; None: those in y.
        new_series : bool
            With one label per step: begin from the zero state, and wash out again, keeping all that was learned.

        Returns
        -------
        ESNClassifier
            Itself.
        """
        checks.choice(self.readout, READOUTS, "readout")
        first = not hasattr(self, "esn_")
        if not first and not hasattr(self, "statistics_") and not hasattr(self, "rows_"):
            raise ValueError("this model was trained by minibatches, which leaves nothing to add to: fit it anew.")
        series, labels = self._data(X, y, reset=first)
        if first:
            self.classes_ = classes_of(labels if classes is None else np.asarray(classes))
        if not self.per_sequence_:
            self._add_steps(series, self._one_hot(labels, series), Scaling.none(len(self.classes_)), new_series)
            if hasattr(self, "readout_"):
                self.settle_steepness()
            return self
        codes = codes_of(np.asarray(labels), self.classes_)
        if first:
            self._fit_sequences(series, codes, stream=True)
            return self
        rows = np.concatenate([self.rows_, self._pooled(series, None)])
        codes = np.concatenate([self.codes_, codes])
        self._solve_rows(rows, codes, self._check_parameters())
        return self

    def decision_function(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """z = W_out x + b; for two classes the difference of both, > 0 for classes_[1].

        With "ridge", z is near 1 for the right class and 0 for the others; with "sigmoid" and "softmax", above 0 and below.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: at rest, with one label per sequence zero.

        Returns
        -------
        (T, O), (B, T, O) or list; with one label per sequence (B, O)
            z, without the last axis for two classes.
        """
        self._check_ready()
        scores, _ = self._scores(_validation.inputs(self, in_columns(X), reset=False), state)
        if len(self.classes_) > 2:
            return scores
        return map_given(lambda each: each[..., 1] - each[..., 0], scores)

    def predict_proba(self, X: SeriesLike, *, state: npt.ArrayLike | None = None) -> Any:
        """softmax(beta z), or sigmoid(beta z) over its sum: probabilities of the classes.

        With "ridge", beta makes the labels of sequences that are left out one by one most likely (`readouts.calibration`);
        with one label per step it is one over the mean squared error of held-out steps. Trained readouts have
        beta = 1 unless `calibrate`.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: at rest, with one label per sequence zero.

        Returns
        -------
        (B, O) array; with one label per step (T, O), (B, T, O) or list
            They add up to 1 over the last axis.
        """
        self._check_ready()
        scores, _ = self._scores(_validation.inputs(self, in_columns(X), reset=False), state)
        return map_given(lambda each: losses.probabilities(self._loss, self.steepness_ * each), scores)

    def predict(self, X: SeriesLike, *, state: npt.ArrayLike | None = None, return_state: bool = False) -> Any:
        """The class with the largest z, of every step (washout included) or of every sequence.

        Parameters
        ----------
        X : (T, F), (B, T, F) or list of (T_b, F)
            Inputs.
        state : (N,) or (B, N), or None
            Where the network begins; None: at rest, with one label per sequence zero.
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
        scores, last = self._scores(_validation.inputs(self, in_columns(X), reset=False), state)
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
        X = in_columns(X)
        if not _validation.are_many(X):
            _validation.name_gaps(X, y)
            table, rules = _validation.as_table(X), {"ensure_min_samples": least, "ensure_all_finite": False}
            X, y = validate_data(self, table, y, reset=reset, dtype=np.float64, **rules)
            check_classification_targets(y)
            series, labels, per_sequence = as_series(X, name="X"), y, False
        else:
            series = _validation.inputs(self, X, reset)
            labels, per_sequence = labels_of(y, series)
        if reset:
            self.per_sequence_ = per_sequence
        elif per_sequence != self.per_sequence_:
            kinds = {True: "one label per sequence", False: "one label per step"}
            raise ValueError(f"y gives {kinds[per_sequence]}, the model was fitted with {kinds[self.per_sequence_]}.")
        return series, labels

    def _check_parameters(self) -> Floats | None:
        sequences.pool_sets(self.features)
        checks.integer(self.parts, "parts", minimum=1)
        if self.every is not None:
            checks.integer(self.every, "every", minimum=1)
        checks.integer(self.minibatch, "minibatch", minimum=1)
        return super()._check_parameters()

    def _one_hot(self, labels: Array | Sequence[Array], series: Series) -> Series:
        if series.kind == "one":
            return as_targets(codes_of(np.asarray(labels), self.classes_), series)
        return as_targets([codes_of(each, self.classes_) for each in labels], series)

    def _candidates(self, sets: Sequence[tuple[str, ...]]) -> list[ESNFeatures]:
        """What is chosen from: transformers with the same weights."""
        given_network = self.network is self.make_network()  # checks the parameters
        shared = {name: getattr(self, name) for name in ESNFeatures().get_params() if hasattr(self, name)}
        washout = 0 if self.washout is None else self.washout
        shared |= {"washout": washout, "random_state": seed_of(self.random_state)}
        tried = sequences.settings(self.ranks, self.input_scaling, self.scale, given_network)
        return sequences.transformers(shared, sets, tried)

    def _fit_sequences(self, series: Series, codes: Floats, stream: bool = False) -> None:
        if self.direct:
            raise ValueError(f"direct={self.direct} has no meaning with one label per sequence; leave it False.")
        warn_of_axes(series)
        if not stream:
            refuse_single_sequences(codes, self.classes_)
        chosen_from, sets = self._check_parameters(), sequences.pool_sets(self.features)
        solved = self.readout == RIDGE
        chosen = sequences.choose(
            self._candidates(sets),
            sets,
            series,
            codes,
            chosen_from,
            self.validation,
            standardise=bool(self.standardise),
            ridge=solved,
        )
        made = chosen.transformer
        if solved and chosen.found is not None:
            self._keep_rows(chosen.rows, codes, chosen.found)
        else:
            self._train(made.esn_, chosen.rows, codes.argmax(axis=1), chosen_from)
        self.transformer_, self.esn_, self.scaling_, self.washout_ = made, made.esn_, made.scaling_, int(made.washout or 0)
        self.target_scaling_ = Scaling.none(codes.shape[1])
        sequences.warn_of_states(chosen.rows, chosen.pools, made.esn_, self.parts)

    def _solve_rows(self, rows: Floats, codes: Floats, chosen_from: Floats | None) -> None:
        found = leave_one_out.solve(rows, codes, chosen_from, self.validation, standardise=bool(self.standardise))
        self._keep_rows(rows, codes, found)

    def _keep_rows(self, rows: Floats, codes: Floats, found: leave_one_out.RowReadout) -> None:
        self.rows_, self.codes_ = rows, codes
        self.readout_, self.ridge_, self.ridge_curve_ = found.readout, found.ridge, found.curve
        right = codes.argmax(axis=1)
        self.steepness_ = calibration.steepness(found.outputs, right) if self.calibrate is not False else 1.0

    def settle_steepness(self) -> None:
        """Set beta of a ridge readout of steps; 1 for one that was trained by minibatches."""
        if hasattr(self, "statistics_"):
            self.steepness_ = calibration.steepness_of_steps(self.statistics_, self.readout_, self.ridge_curve_)
        else:
            self.steepness_ = 1.0

    def _train_steps(self, series: Series, targets: Series) -> None:
        """All states after the washout are rows to train on, in the order of the series."""
        chosen_from, washout = self._check_parameters(), self._washout(series)
        check_longer_than(series, washout, "X")
        left = int((series.lengths - washout).sum())
        if left < 2:
            raise ValueError(f"X leaves {left} step after washout={washout}: a readout needs at least 2 steps to be fitted to.")
        steps = self._steps(series, targets, Scaling.none(targets.features), washout)
        heard, esn = steps.inputs.apply(series), steps.esn
        rows, last = state_rows(esn, heard, washout, steps.columns)
        several = chosen_from is not None and len(chosen_from) > 1
        held_out = fit.splits_of(self.validation, series.lengths, washout, several)
        self._train(esn, rows, counted(targets.values, washout).argmax(axis=1), chosen_from, held_out)
        self._keep_network(steps, washout)
        self.state_, self.steps_seen_, self.last_target_ = last, series.lengths, last_rows(targets)
        states = rows[:, : esn.units]
        check_states(states.mean(axis=0, dtype=np.float64), states.var(axis=0, dtype=np.float64), esn)

    def _train(
        self, esn: ESN, rows: Array, labels: Array, chosen_from: Floats | None, held_out: splits.Splits | None = None
    ) -> None:
        """A readout by minibatches; held_out are splits of time, or None for sequences."""
        if held_out is None:
            several = chosen_from is not None and len(chosen_from) > 1
            held_out = fit.splits_by_class(self.validation, labels, several)
        segments = held_out.rows()
        parts = [segments[s] for s in sorted({s for each in held_out.splits for s in each.train + each.held_out})]
        inside = np.sort(np.concatenate(parts)) if parts else None
        groups = [segments[s] for each in held_out.splits for s in each.held_out]
        found, ridge = minibatches.train(self._trainer(esn), rows, labels, groups, chosen_from, inside=inside)
        beta = 1.0
        if self.calibrate:
            if self.per_sequence_:
                parts = fit.splits_by_class(splits.FOLDS, labels, several=True).rows()
            beta = minibatches.steepness(self._trainer(esn), rows, labels, parts, ridge)
        # Only now: a fit that fails leaves the last one whole.
        self.esn_, self.ridge_, self.ridge_curve_, self.steepness_ = esn, ridge, None, beta
        self.target_scaling_ = Scaling.none(len(self.classes_))
        self.readout_, self.history_ = found.readout._replace(ridge=np.asarray(ridge)), found.history

    @property
    def _loss(self) -> str:
        """What outputs mean: every class by itself, or one of several."""
        return "sigmoid" if self.readout == "sigmoid" else "softmax"

    def _trainer(self, esn: ESN) -> minibatches.Trainer:
        return minibatches.Trainer(
            classes=len(self.classes_),
            loss=self._loss,
            rate=self.rate,
            epochs=self.epochs,
            minibatch=self.minibatch,
            seed=esn.seed,
            dtype=esn.dtype,
            device=esn.device,
        )

    def _scores(self, series: Series, state: npt.ArrayLike | None) -> tuple[Any, Array | None]:
        if not self.per_sequence_:
            return self._outputs(series, state)
        if series.kind == "one":
            raise ValueError(
                "this model gives one label per sequence: pass (B, T, F) or a list of (T, F), for one sequence X[None]."
            )
        return self.readout_.predict(self._pooled(series, state)), None

    def _pooled(self, series: Series, state: npt.ArrayLike | None) -> Floats:
        """Features of every sequence, as many as in the fit."""
        found, fitted = self.transformer_.pool(series, state), self.readout_.coef.shape[1]
        if found.shape[1] != fitted:
            raise ValueError(
                f"sequences of {series.lengths[0]} steps give {found.shape[1]} features, those of the fit gave {fitted}: with "
                "snapshots every so many steps they must be of the same length."
            )
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
