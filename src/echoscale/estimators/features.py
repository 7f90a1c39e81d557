"""`ESNFeatures`: turn series into features of a network's states, for any readout of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from echoscale import network
from echoscale._internal import checks
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Floats
from echoscale.data.normal_scores import NormalScores, heard_of
from echoscale.data.scaling import Scaling, scaling_of
from echoscale.data.series import Series, SeriesLike
from echoscale.engine.esn import ESN
from echoscale.estimators import _validation
from echoscale.estimators._validation import RandomState
from echoscale.estimators.base import ESNEstimator
from echoscale.network import Network
from echoscale.readouts import pooling
from echoscale.readouts.pooling import WHOLE, standardising

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike

# Set on half of the data sets of benchmarks/classification.py.
UNITS = (100, 100, 100, 100)
SLOWEST = 0.03
SPECTRAL_RADIUS, INPUT_SCALING, BIAS_SCALING = 0.95, 0.3, 0.5


class SequenceNetwork(ESNEstimator):
    """Flat parameters, of which leak rates and input scaling may be left open; see `ESNFeatures`."""

    leak_rate: float | Sequence[float] | None  # type: ignore[assignment]
    input_scaling: float | Sequence[float] | None  # type: ignore[assignment]

    def make_network(self) -> network.Network:
        """The network that the parameters describe.

        Returns
        -------
        Network
            Not built yet: `fit` draws its weights.
        """
        if self.network is not None:
            return super().make_network()
        settled = copy(self)
        if self.leak_rate is None:
            levels = len(self.units) if isinstance(self.units, Sequence | np.ndarray) else 1
            settled.leak_rate = tuple(float(f"{each:.3g}") for each in np.geomspace(1, SLOWEST, levels))
        if self.input_scaling is None:
            settled.input_scaling = INPUT_SCALING
        return ESNEstimator.make_network(settled)


class ESNFeatures(TransformerMixin, SequenceNetwork):
    """f = (pool of x(1), ..., x(T)) of every sequence, or x(t) of every step; standardised over the training data.

    A list of sequences or an array (B, T, F) becomes B rows; one series (T, F) becomes T rows, its states. Any readout of
    scikit-learn may follow in a Pipeline. `ESNClassifier` is this with a ridge readout and its choices.

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
        Of the input weights. In a hierarchy, one number is that of the first level; the others have 0. None: 0.3.
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
    features : str or tuple of str
        How the states of a sequence are pooled: "mean", "std", "max", "min", "last", "segments" (means of `parts` parts of
        equal length), "snapshots" (states at `parts` relative positions, or after every `every` steps); several stand side
        by side.
    every : int or None
        Of snapshots: steps from one to the next, for sequences of one length. None: `parts` of them at relative positions,
        x(ceil(k T / parts)), k = 1, 2, ..., whatever the length T.
    parts : int
        How many segments, and snapshots at relative positions.
    changes : bool
        Whether the network hears the changes u(t) - u(t-1) beside the inputs. For sequences.
    ranks : bool
        Whether the network hears normal scores, the rank of every value among those of the training data as a normal
        variable, in place of `scale`: for inputs with few huge values.
    standardise : bool
        Whether features have mean 0 and standard deviation 1 over the rows of `fit`.
    network : Network or None
        Any network, in place of the parameters from `units` to `coupling_delay`.
    washout : int
        Steps at the start of every sequence that do not count.
    scale : "standard" or None
        "standard": the network hears inputs of mean 0 and standard deviation 1 over all data of `fit`. None: as they are.
    dtype : "float32" or "float64"
        Precision of the network.
    device : None, "cpu", "gpu" or a jax.Device
        Where it runs; None: JAX's choice.
    random_state : int, numpy.random.RandomState or None
        Seed of the weights; None: fresh entropy.

    Attributes
    ----------
    esn_ : ESN
        The network with its weights.
    scaling_ : Scaling or NormalScores
        What the network hears, from inputs (and changes) in units of the data.
    feature_scaling_ : Scaling
        Mean and standard deviation of every feature.
    columns_ : dict of str to slice
        Which columns every pool has.
    n_features_in_ : int
        F.

    Examples
    --------
    >>> import numpy as np
    >>> import echoscale as es
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(40) % 2
    >>> X = [np.sin(np.arange(n) * (0.2 + 0.3 * k))[:, None] for n, k in zip(rng.integers(30, 60, 40), labels)]
    >>> model = make_pipeline(es.ESNFeatures(units=(20, 20), random_state=0), LogisticRegression()).fit(X[:20], labels[:20])
    >>> model.score(X[20:], labels[20:])
    1.0
    """

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
        features: str | Sequence[str] = WHOLE,
        every: int | None = None,
        parts: int = 4,
        changes: bool = True,
        ranks: bool = False,
        standardise: bool = True,
        network: Network | None = None,
        washout: int = 0,
        scale: str | None = "standard",
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
        self.features = features
        self.every = every
        self.parts = parts
        self.changes = changes
        self.ranks = ranks
        self.standardise = standardise
        self.network = network
        self.washout = washout
        self.scale = scale
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    esn_: ESN
    feature_scaling_: Scaling

    def fit(self, X: SeriesLike, y: object = None) -> ESNFeatures:
        """Draw the weights, and measure inputs and features.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Sequences; or one series.
        y : ignored
            For pipelines.

        Returns
        -------
        ESNFeatures
            Itself.
        """
        self.fit_transform(X, y)
        return self

    @all_or_nothing
    def fit_transform(self, X: SeriesLike, y: object = None) -> Floats:
        """`fit`, and the features of the same data, from one run.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Sequences; or one series.
        y : ignored
            For pipelines.

        Returns
        -------
        (B, columns) or (T, N)
            Features.
        """
        series = _validation.inputs(self, X, reset=True)
        self.begin(series)
        rows = self.pool(series)
        wanted = bool(self.standardise)
        self.feature_scaling_ = standardising(rows) if wanted else Scaling.none(rows.shape[1])
        return np.asarray(self.feature_scaling_.forward(rows))

    def transform(self, X: SeriesLike) -> Floats:
        """Features, each sequence (or the series) from the zero state.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Sequences; or one series.

        Returns
        -------
        (B, columns) or (T, N)
            Features.
        """
        check_is_fitted(self, "feature_scaling_")
        rows = self.pool(_validation.inputs(self, X, reset=False))
        if rows.shape[1] != len(self.feature_scaling_.mean):
            raise ValueError(
                f"these data give {rows.shape[1]} features, those of the fit gave {len(self.feature_scaling_.mean)}: sequences "
                "with snapshots every so many steps must be of the same length, and one series is no list of sequences."
            )
        return np.asarray(self.feature_scaling_.forward(rows))

    def begin(self, series: Series) -> ESNFeatures:
        """Draw the weights, and measure the inputs.

        Parameters
        ----------
        series : Series
            In units of the data.
        """
        pooling.check_pools(self.features)
        checks.integer(self.parts, "parts", minimum=1)
        checks.integer(self.washout, "washout")
        if self.every is not None:
            checks.integer(self.every, "every", minimum=1)
        checks.choice(self.changes, (True, False), "changes")
        heard = heard_of(series, self.changes)
        self.__dict__.pop("columns_", None)
        self.n_features_in_ = series.features
        self.scaling_ = NormalScores.of(heard.values) if self.ranks else scaling_of(self.scale, heard)  # type: ignore[assignment]
        self.esn_ = self._build(heard.features)
        return self

    def pool(self, series: Series, state: npt.ArrayLike | None = None) -> Floats:
        """Features that are not standardised.

        Parameters
        ----------
        series : Series
            In units of the data.
        state : (N,) or (B, N), optional
            Where to start; zero unless given.

        Returns
        -------
        (B, columns) or (T, N)
            Features.
        """
        heard = self.scaling_.apply(heard_of(series, self.changes))
        if series.kind == "one":
            self._name_columns({"states": slice(0, self.esn_.units)})
            return np.asarray(self.esn_.run(heard, state=state), np.float64)
        pools = pooling.check_pools(self.features)
        rows = pooling.pooled(
            self.esn_, heard, pools, parts=self.parts, every=self.every, washout=int(self.washout or 0), state=state
        )
        fixed = sum(self.parts if name == "segments" else 1 for name in pools if name != "snapshots")
        snapshots = rows.shape[1] // self.esn_.units - fixed
        self._name_columns(pooling.columns(pools, self.esn_.units, self.parts, snapshots))
        return rows

    def _name_columns(self, columns: dict[str, slice]) -> None:
        # By the first data after `begin`: calls that only look leave the object as it is.
        if not hasattr(self, "columns_"):
            self.columns_ = columns

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """ "mean 0", "mean 1", ...: the pool, and the place in it.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        (columns,) array of str
            Names.
        """
        check_is_fitted(self, "feature_scaling_")
        names = [f"{name} {k}" for name, each in self.columns_.items() for k in range(each.stop - each.start)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.target_tags.required = False
        return tags
