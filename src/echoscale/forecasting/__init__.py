"""From data to a fitted model: `auto` gives one output for every step or sequence, `Forecaster` gives the steps to come."""

from echoscale.forecasting.auto import auto
from echoscale.forecasting.forecast import Backtest, Forecast
from echoscale.forecasting.forecaster import Forecaster
from echoscale.forecasting.methods import Found
from echoscale.forecasting.model import AutoModel
from echoscale.forecasting.problem import RangeWarning
from echoscale.forecasting.sequences import SequenceModel

__all__ = ["AutoModel", "Backtest", "Forecast", "Forecaster", "Found", "RangeWarning", "SequenceModel", "auto"]
