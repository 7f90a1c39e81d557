"""From data to a fitted model: `auto` gives one output for every step or sequence, `Forecaster` gives the steps to come."""

from echoscale.forecasting.forecast import Backtest, Forecast
from echoscale.forecasting.forecaster import Forecaster
from echoscale.forecasting.selection.auto import auto
from echoscale.forecasting.selection.found import Found
from echoscale.forecasting.selection.model import AutoModel, SequenceModel
from echoscale.forecasting.selection.problem import RangeWarning

__all__ = ["AutoModel", "Backtest", "Forecast", "Forecaster", "Found", "RangeWarning", "SequenceModel", "auto"]
