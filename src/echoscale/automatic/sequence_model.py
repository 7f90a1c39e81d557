"""What `es.auto` returns for one label per sequence.

z_b = sum over members m of (W_m f_m,b + b_m),   f_m,b pooled states of network m (`ESNFeatures`)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from echoscale import _checks
from echoscale.estimators.transformer import ESNFeatures
from echoscale.features.normal_scores import heard_of
from echoscale.losses import probabilities
from echoscale.readouts.ridge import Readout
from echoscale.scaling import Scaling
from echoscale.series import Series, SeriesLike, as_series

Floats = npt.NDArray[np.float64]


class SequenceMember(NamedTuple):
    """A network with its pools, and the readout of them.

    Attributes
    ----------
    transformer : ESNFeatures
        Pools the states of the network, which hears what `heard_of` makes of the inputs.
    readout : Readout
        W and b.
    changes : bool or "only"
        Whether the network hears the changes of the inputs beside the inputs, not at all, or alone.
    backwards : bool
        Whether the network hears every sequence from its end to its start.
    """

    transformer: ESNFeatures
    readout: Readout
    changes: bool | str = False
    backwards: bool = False

    def scores(self, series: Series) -> Floats:
        """W f + b of every sequence, (B, O).

        Parameters
        ----------
        series : Series
            Sequences, in units of the network.
        """
        return self.readout.predict(self.transformer.pool(heard_of(series, self.changes, self.backwards)))


@dataclass(eq=False)
class SequenceModel:
    """class of sequence b = argmax of the sum over members of W_m f_m,b + b_m; made by `es.auto` for one label per sequence.

    Attributes
    ----------
    members : tuple of SequenceMember
        The networks, each with its share in W_m and b_m; none where a ridge on a summary of the inputs won.
    summary : Readout or None
        Of the summary, where it won.
    scaling : Scaling
        Units of the inputs of both.
    classes_ : array
        The labels in the order of the outputs.
    steepness : float
        beta in p = softmax(beta z).
    state_ : None
        Every sequence begins anew.
    feature_names_in_ : tuple of str
        Names of the input columns, where the training data were data frames; `predict` refuses other columns.
    """

    members: tuple[SequenceMember, ...]
    summary: Readout | None
    scaling: Scaling
    classes_: npt.NDArray[Any]
    steepness: float
    state_: None = None
    feature_names_in_: tuple[str, ...] = ()

    def predict(self, X: SeriesLike, *, state: None = None) -> npt.NDArray[Any]:
        """The label of every sequence.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences, in units of the data.
        state : None
            Every sequence begins anew.

        Returns
        -------
        (B,)
            Labels.
        """
        return np.asarray(self.classes_[np.argmax(self.predict_scores(X, state=state), axis=1)])

    def predict_proba(self, X: SeriesLike) -> Floats:
        """softmax(beta z), (B, classes), calibrated on sequences left out one by one.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences, in units of the data.
        """
        return probabilities("softmax", self.steepness * self.predict_scores(X))

    def predict_scores(self, X: SeriesLike, *, state: None = None) -> Floats:
        """The outputs before the largest is taken, (B, classes): near 1 for the right class, near 0 for the others.

        Parameters
        ----------
        X : (B, T, F) or list of (T_b, F)
            Sequences.
        state : None
            Every sequence begins anew.
        """
        if state is not None:
            raise ValueError("state must be None: every sequence begins anew.")
        series = self.scaling.apply(as_series(X, len(self.scaling.mean), name="X", columns=self.feature_names_in_))
        if series.kind == "one":
            raise ValueError("this model labels whole sequences: pass (B, T, F) or a list of (T, F), for one sequence X[None].")
        if self.summary is not None:
            return _checks.finite(self.summary.predict(summary_of(series)), "scores")
        return _checks.finite(np.sum([each.scores(series) for each in self.members], axis=0), "scores")


def summary_of(series: Series) -> Floats:
    """Mean, standard deviation, first and last value of every input, (B, 4 F).

    Parameters
    ----------
    series : Series
        Sequences.
    """
    rows = [np.asarray(each) for each in series.values]
    return np.stack([np.concatenate([each.mean(axis=0), each.std(axis=0), each[0], each[-1]]) for each in rows])
