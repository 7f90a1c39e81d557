"""`Forecaster` as sktime knows forecasters; needs `pip install echoscale[sktime]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sktime.forecasting.base import BaseForecaster

from echoscale.forecasting import Forecast, Forecaster


class EchoscaleForecaster(BaseForecaster):
    """y(t+h) = sum_k w_k f_k(t, h), as `es.Forecaster`, for sktime's pipelines, evaluation and model selection.

    Parameters
    ----------
    horizon : int or None
        The steps ahead that are judged together; None: as far as the horizon of `fit`, or `es.Forecaster`'s own choice.
    season : int, None or "auto"
        Steps of the season.
    mode : "auto", "direct" or "closed loop"
        One readout for every horizon, or one step fed back.
    difference : "auto", "none", "last", "season" or "both"
        What forecasts start from.
    log : bool or "auto"
        Whether the logarithm is forecast.
    networks : bool
        Whether echo state networks take part.
    seed : int
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from echoscale.forecasting.sktime import EchoscaleForecaster
    >>> y = pd.Series(np.sin(np.pi * np.arange(120) / 6))
    >>> EchoscaleForecaster(networks=False).fit(y, fh=[1, 2, 3]).predict().shape
    (3,)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["The echoscale developers"],
        "python_dependencies": ["echoscale"],
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
        "capability:multivariate": False,
        "capability:exogenous": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:non_contiguous_X": False,
        "capability:categorical_in_X": False,
        "capability:update": True,
        "capability:random_state": False,
        "requires-fh-in-fit": False,
    }

    def __init__(
        self,
        horizon: int | None = None,
        season: int | str | None = "auto",
        mode: str = "auto",
        difference: str = "auto",
        log: bool | str = "auto",
        networks: bool = True,
        seed: int = 0,
    ) -> None:
        self.horizon = horizon
        self.season = season
        self.mode = mode
        self.difference = difference
        self.log = log
        self.networks = networks
        self.seed = seed
        super().__init__()

    def _fit(self, y: pd.Series, X: pd.DataFrame | None, fh: Any) -> EchoscaleForecaster:
        horizon = self.horizon
        if horizon is None and fh is not None:
            horizon = int(max(fh.to_relative(self.cutoff).to_pandas().max(), 1))
        model = Forecaster(
            horizon,
            season=self.season,
            mode=self.mode,
            difference=self.difference,
            log=self.log,
            networks=self.networks,
            seed=self.seed,
        )
        self._name = y.name
        # Times are sktime's: the model counts steps.
        self.forecaster_ = model.fit(y.to_numpy(), _values(X))
        return self

    def _update(self, y: pd.Series, X: pd.DataFrame | None = None, update_params: bool = True) -> EchoscaleForecaster:
        self.forecaster_.update(y.to_numpy(), _values(X))
        return self

    def _predict(self, fh: Any, X: pd.DataFrame | None) -> pd.Series:
        forecast, steps = self._forecast(fh, X)
        index = fh.to_absolute_index(self.cutoff)
        return pd.Series(forecast.means[0][steps - 1], index=index, name=self._name)

    def _predict_quantiles(self, fh: Any, X: pd.DataFrame | None, alpha: Sequence[float]) -> pd.DataFrame:
        forecast, steps = self._forecast(fh, X)
        columns = [forecast.quantile(each)[steps - 1] for each in alpha]
        names = pd.MultiIndex.from_product([self._get_varnames(), list(alpha)])
        return pd.DataFrame(np.stack(columns, axis=1), index=fh.to_absolute_index(self.cutoff), columns=names)

    def _forecast(self, fh: Any, X: pd.DataFrame | None) -> tuple[Forecast, Any]:
        """Up to the last step that is asked for, and the steps that are."""
        steps = fh.to_relative(self.cutoff).to_numpy().astype(int)
        last = int(steps.max())
        return self.forecaster_.predict(last, None if X is None else _values(X.iloc[:last])), steps

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings that sktime tests with: small ones."""
        return [{"networks": False}, {"networks": False, "mode": "direct", "difference": "last", "log": False}]


def _values(X: pd.DataFrame | None) -> Any:
    return None if X is None or X.shape[1] == 0 else X.to_numpy(dtype=np.float64)
