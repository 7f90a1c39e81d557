"""`ESNFeatures`: turn series into features of a network's states, for any readout of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from echoscale._internal import checks, hints
from echoscale._internal.transaction import all_or_nothing
from echoscale._internal.types import Floats
from echoscale.data.normal_scores import NormalScores, heard_of
from echoscale.data.scaling import Scaling, scaling_of
from echoscale.data.series import Series, SeriesLike
from echoscale.engine.hyper import Hyper
from echoscale.estimators import _validation
from echoscale.estimators._validation import RandomState
from echoscale.estimators.base import ESNEstimator
from echoscale.network import Network
from echoscale.readouts import pooling
from echoscale.readouts.pooling import Pools, standardising

if TYPE_CHECKING:
    from echoscale.engine.devices import DeviceLike

# Set on half of the data sets of benchmarks/classification.py.
UNITS = (100, 100, 100, 100)
SPECTRAL_RADIUS = 0.95


@hints.options
class ESNFeatures(TransformerMixin, ESNEstimator):
    """Transformer from sequences to pooled states of an echo state network, for any readout of scikit-learn.

        f = pools of x(1), ..., x(T), standardised over the training data

    A list of sequences or an array (B, T, F) becomes B rows. One series (T, F) becomes T rows, its states.

    Parameters
    ----------
    units : int or tuple of int, default (100, 100, 100, 100)
        Number of neurons of one reservoir, or of each parallel reservoir.
    leak_rate : float, tuple or None
        Leak rate alpha in (0, 1], one for all reservoirs or one for each. Smaller values give longer memory, of about 1 / alpha
        steps; with 1 a neuron forgets at once. None: a geometric range from 1 on the first reservoir to 0.03 on the last. One
        reservoir has the same range over its neurons.
    spectral_radius : float or tuple, default 0.95
        Spectral radius of the recurrent matrix W, one for all reservoirs or one for each. Larger values give longer memory.
    input_scaling : float, tuple or None
        Scale of the input weights, one for all reservoirs or one for each. Larger values drive tanh closer to saturation. None:
        0.3.
    network : Network or None
        Description of any other network, in place of the four parameters above.
    pools : Pools or None
        Inputs of the network and pools of its states; see `echoscale.readouts.Pools`. None: `Pools()`.
    washout : int, default 0
        Number of steps at the start of every sequence that the pools do not count.
    scale : "standard" or None, default "standard"
        Scaling of the inputs. "standard": the network receives inputs of mean 0 and standard deviation 1, measured in `fit`.
        None: inputs are used unchanged.
    dtype : "float32" or "float64", default "float32"
        Precision of the network.
    device : None, "cpu", "gpu" or a jax.Device
        Device that runs the network. None: JAX's choice.
    random_state : int, numpy.random.RandomState or None
        Random seed of the weights. None: a new seed at every fit.

    Attributes
    ----------
    esn_ : ESN
        The network with its weights.
    scaling_ : Scaling or NormalScores
        Map from inputs (and their changes) in units of the data to inputs of the network.
    feature_scaling_ : Scaling
        Mean and standard deviation of every feature.
    columns_ : dict of str to slice
        Columns of every pool.
    n_features_in_ : int
        Number F of inputs.

    See Also
    --------
    echoscale.ESNClassifier : Adds a ridge readout and chooses the open settings.

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
        leak_rate: float | Sequence[float] | None = None,
        spectral_radius: float | Sequence[float] = SPECTRAL_RADIUS,
        input_scaling: float | Sequence[float] | None = None,
        *,
        network: Network | None = None,
        pools: Pools | None = None,
        washout: int = 0,
        scale: str | None = "standard",
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
        self.washout = washout
        self.scale = scale
        self.dtype = dtype
        self.device = device
        self.random_state = random_state

    scaling_: Scaling | NormalScores
    feature_scaling_: Scaling
    columns_: dict[str, slice]

    def fit(self, X: SeriesLike, y: object = None) -> ESNFeatures:
        """Draws the weights, and measures the inputs and the features.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Sequences, or one series.
        y : ignored
            Accepted for pipelines.

        Returns
        -------
        ESNFeatures
            The fitted transformer.
        """
        self.fit_transform(X, y)
        return self

    @all_or_nothing
    def fit_transform(self, X: SeriesLike, y: object = None) -> Floats:
        """Fits the transformer and returns the features of the same data, from one run.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Sequences, or one series.
        y : ignored
            Accepted for pipelines.

        Returns
        -------
        (B, columns) or (T, N)
            Features.
        """
        series = _validation.inputs(self, X, reset=True)
        self.begin(series)
        rows = self.pool(series)
        self.feature_scaling_ = standardising(rows) if pools_of(self.pools).standardise else Scaling.none(rows.shape[1])
        return np.asarray(self.feature_scaling_.forward(rows))

    def transform(self, X: SeriesLike) -> Floats:
        """Returns the features of sequences or of one series, each run from the zero state.

        Parameters
        ----------
        X : (B, T, F), list of (T_b, F), or (T, F)
            Sequences, or one series.

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
                "with snapshots every `every` steps must have the same length, and one series is not a list of sequences."
            )
        return np.asarray(self.feature_scaling_.forward(rows))

    def begin(self, series: Series) -> ESNFeatures:
        """Draws the weights and measures the inputs, but not the features.

        Parameters
        ----------
        series : Series
            Sequences in units of the data.
        """
        pools = pools_of(self.pools)
        checks.integer(self.washout, "washout")
        heard = heard_of(series, pools.with_changes)
        self.__dict__.pop("columns_", None)
        self.n_features_in_ = series.features
        self.scaling_ = NormalScores.of(heard.values) if pools.ranks else scaling_of(self.scale, heard)
        self.esn_ = self._build(heard.features)
        return self

    def pool(self, series: Series, state: npt.ArrayLike | None = None, hyper: Hyper | None = None) -> Floats:
        """Returns features that are not standardised.

        Parameters
        ----------
        series : Series
            Sequences in units of the data.
        state : (N,) or (B, N), optional
            Initial state; zero by default.
        hyper : Hyper, optional
            Hyper-parameters in place of the network's own, for sequences; they may have lanes.

        Returns
        -------
        (B, columns) or (T, N), or (lanes, B, columns)
            Features.
        """
        pools = pools_of(self.pools)
        heard = self.scaling_.apply(heard_of(series, pools.with_changes))
        if series.kind == "one":
            self._name_columns({"states": slice(0, self.esn_.units)})
            return np.asarray(self.esn_.run(heard, state=state), np.float64)
        rows = pooling.pooled(
            self.esn_,
            heard,
            pools.names,
            parts=pools.parts,
            every=pools.every,
            washout=self.washout,
            state=state,
            hyper=hyper,
        )
        self._name_columns(pools.columns(self.esn_.units, rows.shape[-1]))
        return rows

    def _name_columns(self, columns: dict[str, slice]) -> None:
        # Only the first data after `begin` set the columns: transform must not change a fitted object.
        if not hasattr(self, "columns_"):
            self.columns_ = columns

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Returns the name of every feature: its pool and its place there, such as "mean 0".

        Parameters
        ----------
        input_features : ignored
            Accepted for scikit-learn.

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


def pools_of(pools: Pools | None) -> Pools:
    """The pools that a user gave, or the default ones."""
    if pools is not None and not isinstance(pools, Pools):
        raise TypeError(f"pools must be an echoscale.readouts.Pools or None, got {pools!r}.")
    return pools or Pools()
