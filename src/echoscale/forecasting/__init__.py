"""Forecasts of series: with dates, inputs, intervals and backtests."""

from echoscale.forecasting.backtests import Backtest
from echoscale.forecasting.forecast import Forecast
from echoscale.forecasting.forecaster import Forecaster

__all__ = ["Backtest", "Forecast", "Forecaster"]
